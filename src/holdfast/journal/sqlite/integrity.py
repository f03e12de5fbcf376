"""What can be proven about the rows of the embedded store, beyond what SQLite itself looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw

from holdfast.journal.sqlite.blobs import SqliteValues
from holdfast.journal.sqlite.connection import SUMMED
from holdfast.journal.store import EventRow

WORDS = "unicode61 remove_diacritics 2"
EVENT = "event.seq, event.id, event.kind, event.time, event.session, event.agent, event.body"


class SqliteChecks(SqliteValues):
    def problems(self) -> list[str]:
        """What SQLite itself finds wrong."""
        found = [text for (text,) in self._connection.execute("PRAGMA integrity_check") if text != "ok"]
        for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
            found.append(f"row {row} of {table} names a {parent} that is not there")
        return found

    def unsound_events(self, run: str) -> list[int]:
        """The numbers of events that are not as they were written."""
        select = (
            "SELECT seq FROM event WHERE run = (SELECT key FROM run WHERE id = ?)"
            f" AND sum != event_sum({SUMMED}) ORDER BY seq"
        )
        return [seq for (seq,) in self._connection.execute(select, (run,))]

    def schema_problems(self) -> list[str]:
        """Tables and indexes that are not what this format has."""
        from holdfast.journal.sqlite.migrations import expected_schema, schema_of  # only a deep look needs it

        found, expected = schema_of(self._connection), expected_schema()
        return [f"the {kind} {name} is not what this format has" for kind, name, _ in sorted(found ^ expected, key=str)]

    def index_problems(self, words: Callable[[EventRow], str]) -> list[str]:
        """Whether the search index holds what the events say: another one is made of their words, and compared."""
        made = apsw.Connection("")
        try:
            made.execute(f"CREATE VIRTUAL TABLE search USING fts5 (words, content = '', tokenize = '{WORDS}')")
            with made:
                rows = ((place, text) for place, row in self._every_event() if (text := words(row)))
                made.executemany("INSERT INTO search (rowid, words) VALUES (?, ?)", rows)
            differ = _instances(made) != _instances(self._connection)
        finally:
            made.close()
        return ["the search index is not what the events say"] if differ else []

    def _every_event(self) -> Iterator[tuple[int, EventRow]]:
        select = f"SELECT position, run.id, {EVENT} FROM event JOIN run ON run.key = event.run ORDER BY position"
        for position, run, *rest in self._connection.execute(select):
            yield position, EventRow(run, *rest)


def _instances(connection: apsw.Connection) -> int:
    """A number for all words of an index, and where each stands."""
    connection.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab('main', 'search', 'instance')")
    try:
        total = 0
        for found in connection.execute("SELECT term, doc, offset FROM temp.instances"):
            total = hash((total, found))
        return total
    finally:
        connection.execute("DROP TABLE temp.instances")
