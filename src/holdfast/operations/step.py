"""Steps and subagents of a run: start, progress, completion, failure; lists of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.fold import steps
from holdfast.core.fold.activity import MOST_TOKENS
from holdfast.core.fold.external import refuse_owned
from holdfast.core.fold.team import Meant
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Body, Draft, Run, Step, Worker
from holdfast.core.text import checked
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, family, verb
from holdfast.project.runs import select
from holdfast.project.sessions import settle
from holdfast.project.workspace import Workspace

family(
    "step",
    Group.TELL,
    about="start, complete, fail and list steps",
    help="Start, complete, fail and list the steps of a run.",
    example="holdfast step start testing --agent test-agent",
)


class Stepped(Struct):
    run: str
    step: Step
    changed: bool
    completed: bool = False  # this completed the run
    left: list[str] = []  # steps that keep the run open though the last one of its plan is completed
    checkpoint: str | None = None  # of the completed step, in a Go Team run


class StepsListed(Struct):
    run: str
    steps: list[Step]


Name = Annotated[str, argument()]
New = Annotated[bool, option(help="Add the step to a Go Team run that has none of this name.")]


@verb("step start", example="holdfast step start testing --agent test-agent")
def start_step(
    workspace: Workspace,
    name: Name,
    *,
    agent: Annotated[str | None, option(metavar="A", help="The agent at work on it.")] = None,
    run: RunName = None,
    new: New = False,
) -> Stepped:
    """Start a step, or restart it. An unplanned step is added; in a Go Team run only with --new."""
    name = steps.checked_name(name)
    if agent is not None:
        checked(agent, "agent", steps.NAME_LIMIT)
    with select.writing(workspace, run) as (journal, found):
        name = find_layout(found.layout).find_step(found, name, new).step
        before = steps.find_step(found, name)
        same = before is not None and before.status == steps.ACTIVE and agent in (None, before.agent)
        return _record(journal, found, "step.started", {"name": name, "agent": agent}, same)


@verb("step complete", example="holdfast step complete testing")
def complete_step(
    workspace: Workspace,
    name: Name,
    *,
    run: RunName = None,
    new: New = False,
) -> Stepped:
    """Complete a step, even one that was never started. The last step of a plan completes the run."""
    name = steps.checked_name(name)
    with select.writing(workspace, run, ended_too=True) as (journal, found):
        meant = find_layout(found.layout).find_step(found, name, new)
        saves = journal.rules_of(found).has_numbered_steps
        before = steps.find_step(found, meant.step)
        is_saved = not saves or _is_saved(found, meant)
        same = before is not None and before.status == steps.COMPLETED and is_saved
        kind = "step.completed" if meant.completes else "step.started"
        result = _record(journal, found, kind, {"name": meant.step}, same or _is_looping(before, meant))
    if saves and not same:
        result.checkpoint = find_layout(found.layout).keep_step(workspace, found.id, meant).id
        result.changed = True
    with workspace.writing() as journal:
        if result.changed and meant.completes and steps.is_through(journal.get_run(found.id)):
            result.completed = settle(journal, journal.get_run(found.id), Move.COMPLETE, "all steps are completed")
        elif meant.completes:
            result.left = steps.left_behind(journal.get_run(found.id), meant.step)
    return result


def _is_saved(run: Run, meant: Meant) -> bool:
    """Check whether a completed step has its checkpoint: a kill may have prevented it."""
    kept = [found for found in run.standing.kept if found.step == meant.step and found.is_valid and found.completes]
    return meant.completes and bool(kept)


def _is_looping(step: Step | None, meant: Meant) -> bool:
    """Check whether the step's own status stays: one turn of a loop that continues."""
    return not meant.completes and step is not None and step.status == steps.ACTIVE


@verb("step fail", example='holdfast step fail testing --error "two tests are red"')
def fail_step(
    workspace: Workspace,
    name: Name,
    *,
    error: Annotated[str, option(metavar="TEXT", help="What went wrong.")],
    run: RunName = None,
    new: New = False,
) -> Stepped:
    """Record that a step failed, and why. The run goes on."""
    name = steps.checked_name(name)
    checked(error, "error")
    with select.writing(workspace, run) as (journal, found):
        name = find_layout(found.layout).find_step(found, name, new).step
        before = steps.find_step(found, name)
        same = before is not None and before.status == steps.FAILED
        return _record(journal, found, "step.failed", {"name": name, "error": error}, same)


@verb("step list", previews=True)
def list_steps(workspace: Workspace, *, run: RunName = None) -> StepsListed:
    """List the steps of a run with their status."""
    found = select.read_run(workspace, run, ended_too=True)
    return StepsListed(found.id, found.steps)


def _record(journal: Journal, run: Run, kind: str, body: Body, same: bool) -> Stepped:
    if run.owned:
        refuse_owned(run, "its state file defines its phases and steps")
    if not same:
        transition(run.status, Move.RESUME)  # refuses a run that has ended
        journal.append(run.id, Draft(kind, {key: value for key, value in body.items() if value is not None}))
    step = steps.find_step(journal.get_run(run.id), body["name"])
    if step is None:
        hints = ["use one of its steps: `holdfast step list`"]
        raise WrongUsage("The run has the maximum number of steps", [("steps", steps.MOST_STEPS)], hints)
    return Stepped(run.id, step, not same)


family(
    "agent",
    Group.ORCHESTRATOR,
    about="start, track and list the subagents of a run",
    help="Start subagents of a run, report progress, complete or fail them, and list them.",
    example='holdfast agent start code "Implement the API"',
)


class AgentTold(Struct):
    run: str
    agent: Worker
    changed: bool


class AgentsListed(Struct):
    run: str
    agents: list[Worker]
    progress: int | None  # of the run, per cent
    at_work: int
    at_once: int | None  # concurrent agents that its mode advises


AgentId = Annotated[str, argument(metavar="ID")]
Tokens = Annotated[int | None, option(least=0, metavar="N", help="Tokens that it has used so far.")]


@verb("agent start", example='holdfast agent start code "Implement the API"')
def start_agent(
    workspace: Workspace, type: Annotated[str, argument()], task: Annotated[str, argument()], *, run: RunName = None
) -> AgentTold:
    """Record the start of an agent. Prints its id: its TYPE (such as code, test, doc) and a number."""
    steps.checked_type(type)
    checked(task, "task")
    with select.writing(workspace, run) as (journal, found):
        body = {"entry": steps.next_id(found, type), "type": type, "task": task}
        return _record_agent(journal, found, "agent.started", body)


@verb("agent progress", example="holdfast agent progress code-1 60 --tokens 3200")
def progress_agent(
    workspace: Workspace,
    agent: AgentId,
    percent: Annotated[int | None, argument(least=0, most=100)] = None,
    *,
    tokens: Tokens = None,
    run: RunName = None,
) -> AgentTold:
    """Record the progress of an agent, in per cent, or only its tokens."""
    if percent is None and tokens is None:
        hints = [f"`holdfast agent progress {agent} 60`", f"`holdfast agent progress {agent} --tokens 3200`"]
        raise WrongUsage("Give the agent's progress or its tokens", [], hints)
    if percent is not None and not 0 <= percent <= 100:
        hints = [f"`holdfast agent progress {agent} 60`"]
        raise WrongUsage("Progress is a number from 0 to 100", [("given", percent)], hints)
    _check_tokens(tokens)
    with select.writing(workspace, run) as (journal, found):
        worker = steps.get_worker(found, agent)
        _refuse_ended(worker)
        same = percent in (None, worker.progress) and tokens in (None, worker.tokens)
        body = {"entry": agent, "progress": percent, "tokens": tokens}
        return _record_agent(journal, found, "agent.progressed", body, same)


@verb("agent complete", example='holdfast agent complete code-1 --result "Three methods" --tokens 3200')
def complete_agent(
    workspace: Workspace,
    agent: AgentId,
    *,
    result: Annotated[str | None, option(metavar="TEXT", help="The result.")] = None,
    tokens: Tokens = None,
    run: RunName = None,
) -> AgentTold:
    """Record that an agent completed its task."""
    if result is not None:
        checked(result, "result")
    _check_tokens(tokens)
    with select.writing(workspace, run) as (journal, found):
        worker = steps.get_worker(found, agent)
        same = worker.status == steps.COMPLETE and result in (None, worker.result) and tokens in (None, worker.tokens)
        body = {"entry": agent, "result": result, "tokens": tokens}
        return _record_agent(journal, found, "agent.completed", body, same)


@verb("agent fail", example='holdfast agent fail code-1 --error "The tests are red"')
def fail_agent(
    workspace: Workspace,
    agent: AgentId,
    *,
    error: Annotated[str, option(metavar="TEXT", help="What went wrong.")],
    run: RunName = None,
) -> AgentTold:
    """Record that an agent failed. The run goes on."""
    checked(error, "error")
    with select.writing(workspace, run) as (journal, found):
        worker = steps.get_worker(found, agent)
        if worker.status == steps.COMPLETE:
            _refuse_ended(worker)
        body = {"entry": agent, "error": error}
        return _record_agent(journal, found, "agent.failed", body, worker.status == steps.FAILED)


@verb("agent list", previews=True)
def list_agents(workspace: Workspace, *, run: RunName = None) -> AgentsListed:
    """List the agents of a run with their progress."""
    found = select.read_run(workspace, run, ended_too=True)
    at_work = sum(worker.status == steps.IN_PROGRESS for worker in found.workers)
    mode = find_layout(found.layout).MODES.get(found.mode or "")
    return AgentsListed(found.id, found.workers, steps.progress_of(found), at_work, mode.at_once if mode else None)


def _check_tokens(tokens: int | None) -> None:
    if tokens is not None and not 0 <= tokens <= MOST_TOKENS:
        raise WrongUsage("The number of tokens is out of range", [("most", MOST_TOKENS)], ["`--tokens 3200`"])


def _refuse_ended(worker: Worker) -> None:
    if worker.status != steps.IN_PROGRESS:
        hints = [f"`holdfast agent start {worker.type} TASK` starts another one"]
        raise WrongUsage(f"Agent {worker.id} is {worker.status} already", [("task", worker.task)], hints)


def _record_agent(journal: Journal, run: Run, kind: str, body: Body, same: bool = False) -> AgentTold:
    if not same:
        transition(run.status, Move.RESUME, journal.rules_of(run))  # refuses a run that has ended
        journal.append(run.id, Draft(kind, {key: value for key, value in body.items() if value is not None}))
    return AgentTold(run.id, steps.get_worker(journal.get_run(run.id), body["entry"]), not same)
