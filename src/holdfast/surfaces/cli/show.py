"""Show: one run, session or checkpoint, also as a report or a picture."""

from __future__ import annotations

import click

from holdfast.core.errors import WrongUsage
from holdfast.operations import look
from holdfast.operations.report import picture, report
from holdfast.operations.runs import runs
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import MANY, complete_run, pick_option, verb, which
from holdfast.surfaces.cli.render.details import told_checkpoint, told_run, told_session
from holdfast.surfaces.cli.runner import Said


@verb("holdfast show run-4x9k2m7pq3 --at 12")
@click.argument("name", metavar="[RUN|SESSION|CHECKPOINT]", required=False, shell_complete=complete_run)
@click.option("--at", metavar="EVENT", help="A run as it was after this event.")
@click.option("--diff", is_flag=True, help="What a checkpoint or a session changed in the code.")
@click.option("--markdown", is_flag=True, help="A run as a report, fit for a pull request.")
@click.option("--svg", metavar="FILE", type=click.Path(), help="Draw a run's timeline into a file; `-`: print it.")
@pick_option
def show(
    workspace: Workspace, name: str | None, at: str | None, diff: bool, markdown: bool, svg: str | None, pick: bool
) -> Said:
    """A run, as it is or as it was; a session with its events; or a checkpoint."""
    given = {"--at": at is not None, "--diff": diff, "--markdown": markdown, "--svg": svg is not None}
    _refuse_two([option for option, is_given in given.items() if is_given])
    if pick and name is None:
        raise which(runs(workspace, limit=MANY).runs)
    if markdown:
        reported = report(workspace, name)
        return Said(reported, reported.markdown.splitlines())
    if svg is not None:
        drawn = picture(workspace, name, None if svg == "-" else svg)
        return Said(drawn, [drawn.path] if drawn.path else drawn.svg.splitlines())
    found = look.show(workspace, name, at=at, diff=diff)
    if isinstance(found, look.SessionShown):
        return Said(found, list(told_session(found)))
    if isinstance(found, look.CheckpointShown):
        return Said(found, list(told_checkpoint(found)))
    return Said(found, list(told_run(found)))


def _refuse_two(options: list[str]) -> None:
    if len(options) > 1:
        both = f"`{options[0]}` and `{options[1]}`"
        raise WrongUsage(f"Options {both} do not go together", [], ["give one of them", "`holdfast show --help`"])
