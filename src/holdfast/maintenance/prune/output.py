"""Thinning out what tools gave: the events stay, and of their long texts only the sizes.

It happens run by run, the oldest first, each in one transaction in which the run is looked at once more. What is open,
in use, named, pinned or unknown is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from holdfast.core.model import Run
from holdfast.core.retention import RAW, why_output_stays
from holdfast.journal import codec
from holdfast.journal.journal import Journal
from holdfast.journal.store import EventRow
from holdfast.project.workspace import Workspace


class Thinned(Struct):
    """What thinning out took away."""

    runs: list[str] = []
    events: int = 0
    freed: int = 0  # bytes of the journal, before they are given back


def thin_out(
    workspace: Workspace, *, older_than: datetime | None = None, until_freed: int = 0, dry_run: bool = False
) -> Thinned:
    """Thin out runs that nothing happened in since `older_than`, and then more, until so many bytes are freed."""
    result = Thinned()
    with workspace.reading() as journal:
        names = journal.view.runs_with_output()
    for number, name in enumerate(names):
        with workspace.reading() as journal:
            run = journal.find_run(name)
            is_old = run is not None and older_than is not None and run.updated is not None and run.updated < older_than
        if not is_old and result.freed >= until_freed:
            break
        if dry_run:
            with workspace.reading() as journal:
                _add(result, name, _plan(journal, name))
        else:
            with workspace.writing(for_session=False) as journal:
                _add(result, name, _thin(journal, name))
        workspace.progress("thinning out tool output", number + 1, len(names))
    return result


def _add(result: Thinned, run: str, gone: tuple[int, int]) -> None:
    if gone[0]:
        result.runs.append(run)
        result.events += gone[0]
        result.freed += gone[1]


def _plan(journal: Journal, name: str) -> tuple[int, int]:
    """How many events of a run would be thinned out, and how many bytes that would free."""
    changed = list(_changes(journal, journal.find_run(name)))
    return len(changed), _freed(journal, name, changed)


def _thin(journal: Journal, name: str) -> tuple[int, int]:
    run = journal.find_run(name)
    if run is None or why_output_stays(run, journal.rules_of(run)):
        return 0, 0
    changed = list(_changes(journal, run))
    freed = _freed(journal, name, changed)
    journal.replace_bodies(name, {row.seq: small for row, small in changed})
    return len(changed), freed


def _changes(journal: Journal, run: Run | None) -> Iterator[tuple[EventRow, bytes]]:
    """The events of a run that hold long texts of tools, with their smaller bodies."""
    if run is None or why_output_stays(run, journal.rules_of(run)):
        return
    for row in journal.view.events(run.id):
        if places := RAW.get(row.kind):
            small = codec.thin(row.body, places, journal.view.blob)
            if small is not None:
                yield row, small


def _freed(journal: Journal, run: str, changed: list[tuple[EventRow, bytes]]) -> int:
    """Bytes that smaller bodies save, and those of values that only these events of this run refer to."""
    small = {row.seq: body for row, body in changed}
    going = {digest for row, _ in changed for digest in codec.blobs_in(row.body)}
    for row in journal.view.events(run) if going else ():
        going -= codec.blobs_in(small.get(row.seq, row.body))
    return sum(len(row.body) - len(body) for row, body in changed) + journal.view.stored_bytes(run, going)
