"""Find: search."""

from __future__ import annotations

import click

from holdfast.core.event_text import SORTS
from holdfast.operations import search as searching
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import moment, run_filter, verb
from holdfast.surfaces.cli.render.lists import said_found
from holdfast.surfaces.cli.runner import Said


@verb("holdfast search '\"exponential backoff\" retr*' --kind decision")
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--kind", multiple=True, type=click.Choice(list(SORTS)), help="Only events of this kind. Can be repeated."
)
@click.option("--status", multiple=True, metavar="STATUS", help="Only in runs of this status, or `open`.")
@click.option("--layout", multiple=True, metavar="LAYOUT", help="Only in runs of this layout.")
@click.option("--agent", metavar="NAME", help="Only in runs that this agent worked on.")
@click.option("--tag", metavar="TAG", help="Only in runs with this tag.")
@click.option("--since", metavar="WHEN", help="Happened since: 2026-11-01, or 3d, 12h, 30m.")
@click.option("--until", metavar="WHEN", help="Happened before.")
@run_filter("Only in this run; else in all runs.")
@click.option("--newest", is_flag=True, help="The newest first, not the best.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="At most N events.")
def search(
    workspace: Workspace, text: tuple[str, ...], since: str | None, until: str | None, **filters: object
) -> Said:
    """Events that hold all these words, the best first: goals, prompts, decisions, notes, tasks, files, errors."""
    between = {"since": moment(since), "until": moment(until)}
    return said_found(searching.search(workspace, " ".join(text), **between, **filters))  # type: ignore[arg-type]
