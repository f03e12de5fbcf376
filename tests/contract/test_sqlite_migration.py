"""Migration of the search index: words that earlier formats lacked are found then, but no forgotten events.

Format 2 lacked errors, format 3 lacked what agents said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from holdfast.journal import codec
from holdfast.journal.sqlite.connection import event_sum
from holdfast.journal.sqlite.migrations import script_of
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.journal.store import HitQuery, RunQuery

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


SAID: list[tuple[str, dict[str, Any]]] = [
    ("turn.ended", {"text": "the cause is the clock"}),
    ("turn.ended", {"text": "a secret"}),
    ("turn.ended", {"text": "long " * 300 + "ending"}),
    ("subagent.ended", {"text": "measured"}),
    ("turn.ended", {}),
    ("event.forgotten", {"seq": 2}),
]


def test_answers_in_an_older_store_are_found_once_it_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    connection = apsw.Connection(str(path))
    connection.create_scalar_function("event_sum", event_sum, 8)
    connection.execute(script_of(1) + script_of(2) + script_of(3) + "PRAGMA user_version = 3")
    connection.execute("INSERT INTO run VALUES (1, 'run-a', 'active', 'native', '.', 1, 1, 6, 1, ?, 0)", (b"j{}",))
    for seq, (kind, body) in enumerate(SAID, 1):
        data, blobs = codec.pack(body)
        row = (1, seq, bytes([seq]) * 16, kind, 1, None, None, data)
        connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (seq, *row, event_sum(*row)))
        for digest, value in blobs.items():
            connection.execute("INSERT INTO blob VALUES (?, ?)", (digest, codec.squeeze(value)))
    connection.close()
    store = SqliteStore(path)
    with store.reading() as reader:
        words = ("clock", "secret", "ending", "measured")
        found = {word: [hit.seq for hit in reader.hits(HitQuery(word)).found] for word in words}
    store.close()
    assert found == {"clock": [1], "secret": [], "ending": [3], "measured": [4]}
