"""The agents of a run: sent out, on their way, complete or failed."""

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
    about="agents a run sent out: start, progress, complete, fail, list",
    help="Agents of a run: send one out, say how far it has come, that it is done or has failed; list them.",
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
    at_once: int | None  # how many its mode advises


@verb("agent start", example='holdfast agent start code "Implement the API"')
def start_agent(
    workspace: Workspace, type: Annotated[str, argument()], task: Annotated[str, argument()], *, run: RunName = None
) -> AgentTold:
    """Note that an agent was sent out. Prints its id: its TYPE (such as code, test, doc) and a number."""
    steps.checked_type(type)
    checked(task, "task")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        body = {"entry": steps.next_id(found, type), "type": type, "task": task}
        return _tell(journal, found, "agent.started", body)


@verb("agent progress", example="holdfast agent progress code-1 60 --tokens 3200")
def progress_agent(
    workspace: Workspace,
    agent: Annotated[str, argument(metavar="ID")],
    percent: Annotated[int | None, argument(least=0, most=100)] = None,
    *,
    tokens: Annotated[int | None, option(least=0, metavar="N", help="Tokens that it took so far.")] = None,
    run: RunName = None,
) -> AgentTold:
    """Note how far an agent has come, in per cent, or only its tokens."""
    if percent is None and tokens is None:
        hints = [f"`holdfast agent progress {agent} 60`", f"`holdfast agent progress {agent} --tokens 3200`"]
        raise WrongUsage("How far has the agent come, or how many tokens did it take?", [], hints)
    if percent is not None and not 0 <= percent <= 100:
        raise WrongUsage(
            "Progress is a number from 0 to 100", [("given", percent)], [f"`holdfast agent progress {agent} 60`"]
        )
    _check_tokens(tokens)
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        worker = steps.get_worker(found, agent)
        _refuse_ended(worker)
        same = percent in (None, worker.progress) and tokens in (None, worker.tokens)
        body = {"entry": agent, "progress": percent, "tokens": tokens}
        return _tell(journal, found, "agent.progressed", body, same)


@verb("agent complete", example='holdfast agent complete code-1 --result "Three methods" --tokens 3200')
def complete_agent(
    workspace: Workspace,
    agent: Annotated[str, argument(metavar="ID")],
    *,
    result: Annotated[str | None, option(metavar="TEXT", help="What came of it.")] = None,
    tokens: Annotated[int | None, option(least=0, metavar="N", help="Tokens that it took so far.")] = None,
    run: RunName = None,
) -> AgentTold:
    """Note that an agent has done its task."""
    if result is not None:
        checked(result, "result")
    _check_tokens(tokens)
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        worker = steps.get_worker(found, agent)
        same = worker.status == steps.COMPLETE and result in (None, worker.result) and tokens in (None, worker.tokens)
        body = {"entry": agent, "result": result, "tokens": tokens}
        return _tell(journal, found, "agent.completed", body, same)


@verb("agent fail", example='holdfast agent fail code-1 --error "The tests are red"')
def fail_agent(
    workspace: Workspace,
    agent: Annotated[str, argument(metavar="ID")],
    *,
    error: Annotated[str, option(metavar="TEXT", help="What went wrong.")],
    run: RunName = None,
) -> AgentTold:
    """Note that an agent has failed. The run goes on."""
    checked(error, "error")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        worker = steps.get_worker(found, agent)
        if worker.status == steps.COMPLETE:
            _refuse_ended(worker)
        return _tell(journal, found, "agent.failed", {"entry": agent, "error": error}, worker.status == steps.FAILED)


@verb("agent list", example="holdfast agent list", changes=False, previews=True)
def list_agents(workspace: Workspace, *, run: RunName = None) -> AgentsListed:
    """The agents of a run, and how far each has come."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
    at_work = sum(worker.status == steps.IN_PROGRESS for worker in found.workers)
    mode = find_layout(found.layout).MODES.get(found.mode or "")
    return AgentsListed(found.id, found.workers, steps.progress_of(found), at_work, mode.at_once if mode else None)


def _check_tokens(tokens: int | None) -> None:
    if tokens is not None and not 0 <= tokens <= MOST_TOKENS:
        raise WrongUsage("This is not a number of tokens", [("most", MOST_TOKENS)], ["`--tokens 3200`"])


def _refuse_ended(worker: Worker) -> None:
    if worker.status != steps.IN_PROGRESS:
        hints = [f"`holdfast agent start {worker.type} TASK` sends out another one"]
        raise WrongUsage(f"Agent {worker.id} is {worker.status} already", [("task", worker.task)], hints)


def _tell(journal: Journal, run: Run, kind: str, body: Body, same: bool = False) -> AgentTold:
    if not same:
        transition(run.status, Move.RESUME, journal.rules_of(run))  # refuses what has ended
        journal.append(run.id, Draft(kind, {key: value for key, value in body.items() if value is not None}))
    return AgentTold(run.id, steps.get_worker(journal.get_run(run.id), body["entry"]), not same)
