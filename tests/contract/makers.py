"""Factories of the stores under contract, and of rows with valid defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.journal.sqlite.store import SqliteStore
from holdfast.journal.store import EventRow, RunRow, SessionRow, Store, Writer

Maker = Callable[[Path, float], Store]


def make_sqlite(directory: Path, deadline: float) -> Store:
    """The store in a directory; created if there is none, else opened once more."""
    return SqliteStore(directory / "journal.db", deadline)


MAKERS: dict[str, Maker] = {"sqlite": make_sqlite}


def a_run_row(id: str = "run-a", **changes: Any) -> RunRow:
    fields = {
        "status": "active",
        "layout": "native",
        "worktree": "/project",
        "created": 1_000,
        "updated": 1_000,
        "seq": 0,
        "fold": 1,
        "state": b"{}",
    }
    return RunRow(id=id, **{**fields, **changes})


def an_event_row(number: int, run: str = "run-a", **changes: Any) -> EventRow:
    """The event with a number; its id is derived from the run and the number."""
    fields = {
        "seq": number,
        "id": f"{run} {number}".encode(),
        "kind": "note.added",
        "time": number,
        "session": None,
        "agent": None,
        "body": b"j{}",
    }
    return EventRow(run=run, **{**fields, **changes})


def a_session_row(id: str = "ses-a", run: str = "run-a", **changes: Any) -> SessionRow:
    fields = {"opened": 1, "is_open": True, "has_process": False, "agent_session": None, "record": b"{}"}
    return SessionRow(id=id, run=run, **{**fields, **changes})


def add_run(writer: Writer, id: str, *words: str, **changes: Any) -> None:
    """A run with one event for each of these texts, by which a search finds it."""
    writer.put_run(a_run_row(id, seq=len(words), **changes))
    for number, text in enumerate(words, 1):
        writer.add_event(an_event_row(number, id), text)
