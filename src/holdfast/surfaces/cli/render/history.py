"""Runs of the archive in a table, with the date on which each was created."""

from __future__ import annotations

from datetime import datetime

from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.operations.past_runs import PastRuns
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.system.clock import ago, shown


@renders(PastRuns)
def said_past_runs(found: PastRuns, view: View) -> Said:
    return said_history(found, view.given.get("number", 10))


def said_history(found: PastRuns, limit: int) -> Said:
    """Runs of the archive in a table, with the date on which each was created."""
    if not found.runs:
        return Said(found, talk=["No run has ended yet."])
    rows = [
        [
            str(number),
            run.id,
            found.words.get(run.id, run.status),
            _day(run.created),
            _ended(run),
            one_line(run.title, 80),
        ]
        for number, run in enumerate(found.runs, 1)
    ]
    talk = [f"There are more: `holdfast history --limit {min(10_000, 10 * limit)}`"] if found.more else []
    return Said(found, lambda: terminal.table(["#", "run", "status", "created", "ended", "goal"], rows), talk)


def _day(moment: datetime | None) -> str:
    return shown(moment) if moment else "-"


def _ended(run: Run) -> str:
    return ago(run.status_since) if run.status_since and not run.status.is_open else "-"
