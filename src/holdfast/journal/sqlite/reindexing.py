"""Words that stores of format 2 did not index: those of errors. They are added once, when such a store is upgraded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from holdfast.core.errors import Damaged
from holdfast.core.event_text import searchable
from holdfast.core.model import Body, Event
from holdfast.journal import codec
from holdfast.journal.sqlite.blobs import SqliteValues
from holdfast.system.clock import from_micros

KINDS = ("error.met", "agent.failed", "action.taken")
FORGOTTEN = "event.forgotten"


def index_errors(connection: apsw.Connection) -> None:
    """Index what failed, but for what was forgotten. An event that cannot be read is named by `verify`."""
    forgotten = {(run, body.get("seq")) for _, run, _, _, body in _bodies(connection, (FORGOTTEN,))}
    for position, run, seq, kind, body in _bodies(connection, KINDS):
        if (run, seq) in forgotten or (kind == "action.taken" and not body.get("error")):
            continue
        words = searchable(Event("", seq, "", kind, from_micros(0), None, None, body))
        connection.execute("DELETE FROM search WHERE rowid = ?", (position,))
        if words:
            connection.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (position, words))


def _bodies(connection: apsw.Connection, kinds: tuple[str, ...]) -> Iterator[tuple[int, int, int, str, Body]]:
    values = SqliteValues(connection)
    select = f"SELECT position, run, seq, kind, body FROM event WHERE kind IN ({', '.join('?' * len(kinds))})"
    row: tuple[Any, ...]
    for row in connection.execute(select, kinds):
        try:
            yield (*row[:4], codec.unpack(row[4], values.blob))
        except Damaged:
            continue
