"""Migration of the search index from format 2, which lacked errors: then errors are found, but no forgotten events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from holdfast.journal import codec
from holdfast.journal.sqlite.migrations import script_of
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.journal.store import RunQuery

EVENTS: list[tuple[str, dict[str, Any], str]] = [
    ("action.taken", {"text": "ran well"}, "ran well"),
    ("action.taken", {"text": "ran", "error": "segfault"}, "ran"),
    ("error.met", {"text": "overloaded"}, ""),
    ("error.met", {"text": "secret"}, ""),
    ("event.forgotten", {"seq": 4}, ""),
]


def test_errors_of_an_older_store_are_found_once_it_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    connection = apsw.Connection(str(path))
    connection.execute(script_of(1) + script_of(2) + "PRAGMA user_version = 2")
    connection.execute("INSERT INTO run VALUES (1, 'run-a', 'active', 'native', '.', 1, 1, 5, 1, ?)", (b"j{}",))
    for seq, (kind, body, words) in enumerate(EVENTS, 1):
        row = (seq, seq, bytes([seq]) * 16, kind, codec.pack(body)[0])
        connection.execute("INSERT INTO event VALUES (?, 1, ?, ?, ?, 1, NULL, NULL, ?)", row)
        if words:
            connection.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (seq, words))
    connection.close()
    store = SqliteStore(path)
    with store.reading() as reader:
        found = {
            word: bool(reader.list_runs(RunQuery(search=word)).rows)
            for word in ("well", "segfault", "overloaded", "secret")
        }
    store.close()
    assert found == {"well": True, "segfault": True, "overloaded": True, "secret": False}
