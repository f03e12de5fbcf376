"""The agents of a run: start, progress, complete, fail, list."""

from __future__ import annotations

import click

from holdfast.core.model import Worker
from holdfast.core.text import one_line
from holdfast.operations import agent as crewing
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import VerbGroup, run_option, verb
from holdfast.surfaces.cli.runner import Said

ID = click.argument("id")
TOKENS = click.option("--tokens", type=click.IntRange(0), metavar="N", help="Tokens that it took so far.")


@click.group(cls=VerbGroup, example='holdfast agent start code "Implement the API"', no_args_is_help=True)
def agent() -> None:
    """Agents of a run: send one out, say how far it has come, that it is done or has failed; list them."""


@verb('holdfast agent start code "Implement the API"', "start", agent)
@click.argument("type")
@click.argument("task")
@run_option
def start(workspace: Workspace, type: str, task: str, run: str | None) -> Said:
    """Note that an agent was sent out. Prints its id: its TYPE (such as code, test, doc) and a number."""
    return _said(crewing.start_agent(workspace, type, task, run=run))


@verb("holdfast agent progress code-1 60 --tokens 3200", "progress", agent)
@ID
@click.argument("percent", type=click.IntRange(0, 100), required=False)
@TOKENS
@run_option
def progress(workspace: Workspace, id: str, percent: int | None, tokens: int | None, run: str | None) -> Said:
    """Note how far an agent has come, in per cent, or only its tokens."""
    return _said(crewing.progress_agent(workspace, id, percent, tokens=tokens, run=run))


@verb('holdfast agent complete code-1 --result "Three methods" --tokens 3200', "complete", agent)
@ID
@click.option("--result", metavar="TEXT", help="What came of it.")
@TOKENS
@run_option
def complete(workspace: Workspace, id: str, result: str | None, tokens: int | None, run: str | None) -> Said:
    """Note that an agent has done its task."""
    return _said(crewing.complete_agent(workspace, id, result=result, tokens=tokens, run=run))


@verb('holdfast agent fail code-1 --error "The tests are red"', "fail", agent)
@ID
@click.option("--error", metavar="TEXT", required=True, help="What went wrong.")
@run_option
def fail(workspace: Workspace, id: str, error: str, run: str | None) -> Said:
    """Note that an agent has failed. The run goes on."""
    return _said(crewing.fail_agent(workspace, id, error=error, run=run))


@verb("holdfast agent list", "list", agent)
@run_option
def list_(workspace: Workspace, run: str | None) -> Said:
    """The agents of a run, and how far each has come."""
    found = crewing.list_agents(workspace, run=run)
    if not found.agents:
        return Said(found, talk=["No agent yet."])
    rows = [[one.id, one.status, _far(one), one.task, one.result or one.error or ""] for one in found.agents]
    advised = f"; mode advises {found.at_once} at once" if found.at_once else ""
    talk = [f"{found.progress} % complete, {found.at_work} at work{advised}"]
    return Said(found, lambda: terminal.table(["agent", "state", "done", "what", "outcome"], rows), talk)


def _far(worker: Worker) -> str:
    return f"{worker.progress or 0} %" if worker.completed is None else ""


def _said(found: crewing.AgentTold) -> Said:
    one, now = found.agent, "is" if found.changed else "was already"
    far = f" at {one.progress} %" if one.progress is not None and one.completed is None else ""
    return Said(found, [one.id], [f"Agent {one.id} of {found.run} {now} {one.status}{far}: {one_line(one.task, 80)}"])
