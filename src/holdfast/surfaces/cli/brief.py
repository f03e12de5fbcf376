"""The brief, on its own."""

from __future__ import annotations

import click

from holdfast.operations import brief as briefing
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import run_option, verb
from holdfast.surfaces.cli.runner import Said


@verb("holdfast brief --budget 4000")
@run_option
@click.option("--budget", type=click.IntRange(500, 1_000_000), metavar="N", help="At most N characters.")
def brief(workspace: Workspace, run: str | None, budget: int | None) -> Said:
    """What the next session would be told, exactly."""
    found = briefing.brief(workspace, run=run, budget=budget)
    return Said(found, [found.text], fenced=True)
