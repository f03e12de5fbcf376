"""Runs of one project in a table; a row's number names its run."""

from __future__ import annotations

from holdfast.core.text import one_line
from holdfast.operations.runs import RunsListed
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.system.clock import ago


@renders(RunsListed)
def said_runs(found: RunsListed, view: View) -> Said:
    if not found.runs:
        return Said(found, talk=["No run fits."])
    rows = [
        [str(number), run.id, run.status, ago(run.updated) if run.updated else "-", one_line(run.title, 80)]
        for number, run in enumerate(found.runs, 1)
    ]
    talk = [f"More: `holdfast runs --after {found.next}` (with the same filters)"] if found.next else []
    return Said(found, lambda: terminal.table(["#", "run", "status", "last", "goal"], rows), talk)
