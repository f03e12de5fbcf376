"""Subagents of a run: start, progress, completion and failure."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.fold import steps
from holdfast.core.fold.activity import MOST_TOKENS
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Body, Draft, Run, Worker
from holdfast.core.text import checked
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, family, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

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
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        body = {"entry": steps.next_id(found, type), "type": type, "task": task}
        return _record(journal, found, "agent.started", body)


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
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        worker = steps.get_worker(found, agent)
        _refuse_ended(worker)
        same = percent in (None, worker.progress) and tokens in (None, worker.tokens)
        body = {"entry": agent, "progress": percent, "tokens": tokens}
        return _record(journal, found, "agent.progressed", body, same)


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
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        worker = steps.get_worker(found, agent)
        same = worker.status == steps.COMPLETE and result in (None, worker.result) and tokens in (None, worker.tokens)
        body = {"entry": agent, "result": result, "tokens": tokens}
        return _record(journal, found, "agent.completed", body, same)


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
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        worker = steps.get_worker(found, agent)
        if worker.status == steps.COMPLETE:
            _refuse_ended(worker)
        body = {"entry": agent, "error": error}
        return _record(journal, found, "agent.failed", body, worker.status == steps.FAILED)


@verb("agent list", previews=True)
def list_agents(workspace: Workspace, *, run: RunName = None) -> AgentsListed:
    """List the agents of a run with their progress."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
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


def _record(journal: Journal, run: Run, kind: str, body: Body, same: bool = False) -> AgentTold:
    if not same:
        transition(run.status, Move.RESUME, journal.rules_of(run))  # refuses a run that has ended
        journal.append(run.id, Draft(kind, {key: value for key, value in body.items() if value is not None}))
    return AgentTold(run.id, steps.get_worker(journal.get_run(run.id), body["entry"]), not same)
