"""What is said about lists of runs and about what a search finds, however the command was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.core.text import count, one_line
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.clock import ago, shown

if TYPE_CHECKING:  # a list need not load what searches
    from datetime import datetime

    from holdfast.core.model import Run
    from holdfast.operations.past_runs import PastRuns
    from holdfast.operations.runs import RunsListed
    from holdfast.operations.search import Found, Searched


def said_runs(found: RunsListed) -> Said:
    """Runs in a table; a row's number names its run."""
    if not found.runs:
        return Said(found, talk=["No run fits."])
    rows = [
        [str(number), run.id, run.status, ago(run.updated) if run.updated else "-", one_line(run.title, 80)]
        for number, run in enumerate(found.runs, 1)
    ]
    talk = [f"More: `holdfast runs --after {found.next}` (with the same filters)"] if found.next else []
    return Said(found, lambda: terminal.table(["#", "run", "status", "last", "goal"], rows), talk)


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


def said_found(found: Searched) -> Said:
    """Each event with the piece of it in which the words stand."""
    if not found.found:
        return Said(found, talk=[_nothing(found.search)])
    lines = [line for hit in found.found for line in _hit(hit)]
    order = "the best first" if found.ranked else "the newest first"
    return Said(found, lines, [f"{count(len(found.found), 'event')}, {order}"])


def _nothing(text: str) -> str:
    """What was looked at in vain, and one way on."""
    looked = f"No event of this project that was asked about holds all of: {one_line(text, 80)}"
    beginning = next((word[:4] for word in text.split() if len(word) > 4 and word.isalnum()), None)
    if beginning is None:
        return f"{looked}. `holdfast runs --all-projects` lists the runs of every project"
    return f"{looked}. `holdfast search '{beginning}*'` finds every word that begins so"


def _hit(hit: Found) -> Iterator[Line]:
    yield ("dim", f"{hit.run} #{hit.seq}  {hit.kind}  {ago(hit.time)}  {one_line(hit.title, 60)}")
    pieces, at = [("", "  ")], 0
    for first, last in hit.marks:
        pieces += [("", hit.text[at:first]), ("match", hit.text[first:last])]
        at = last
    yield [*pieces, ("", hit.text[at:])]
