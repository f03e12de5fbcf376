"""What one transaction of the embedded store sees, and through which it changes things: all its SQL but the schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import apsw

from holdfast.journal.codec import expand, squeeze
from holdfast.journal.sqlite.blobs import SqliteValues
from holdfast.journal.sqlite.connection import SUMMED
from holdfast.journal.sqlite.lists import RUN, SqliteLists, run_row
from holdfast.journal.store import CheckpointRow, EventRow, RunRow, SessionRow, Snapshot

CHECKPOINT = "id, worktree, number, run, time, named, pinned, record"
SESSION = (
    "session.id, run.id, session.opened, session.is_open, session.has_process, session.agent_session, session.record"
)


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


class SqliteView(SqliteChecks, SqliteLists):
    def find_run(self, id: str) -> RunRow | None:
        row = self._row(f"SELECT {RUN} FROM run WHERE id = ?", id)
        return run_row(row) if row else None

    def all_run_ids(self) -> list[str]:
        return [id for (id,) in self._connection.execute("SELECT id FROM run ORDER BY key")]

    def find_ids(self, table: str, fragment: str, limit: int) -> list[str]:
        """Ids of runs or sessions that begin or end with a fragment; the part before the first dash may be left out."""
        assert table in ("run", "session", "checkpoint")
        like = like_fragment(fragment)
        rows = self._connection.execute(
            f"SELECT id FROM {table} WHERE id LIKE ?1 || '%' ESCAPE '\\' OR id LIKE '%' || ?1 ESCAPE '\\'"
            " OR id LIKE '%-' || ?1 || '%' ESCAPE '\\' LIMIT ?2",
            (like, limit),
        )
        return [id for (id,) in rows]

    def find_session(self, id: str) -> SessionRow | None:
        row = self._row(f"SELECT {SESSION} FROM session JOIN run ON run.key = session.run WHERE session.id = ?", id)
        return _session(row) if row else None

    def list_sessions(
        self, run: str | None = None, *, only_open: bool = False, with_process: bool = False, limit: int | None = None
    ) -> list[SessionRow]:
        conditions = ["run.id = ?"] if run is not None else ["1"]
        conditions += ["session.is_open = 1"] * only_open + ["session.has_process = 1"] * with_process
        rows = self._connection.execute(
            f"SELECT {SESSION} FROM session JOIN run ON run.key = session.run WHERE {' AND '.join(conditions)}"
            " ORDER BY session.opened DESC, session.rowid DESC LIMIT ?",
            ((run,) if run is not None else ()) + (-1 if limit is None else limit,),
        )
        return [_session(row) for row in rows]

    def sessions_of(self, conversation: str) -> list[SessionRow]:
        rows = self._connection.execute(
            f"SELECT {SESSION} FROM session JOIN run ON run.key = session.run WHERE session.agent_session = ?"
            " ORDER BY session.opened DESC, session.rowid DESC",
            (conversation,),
        )
        return [_session(row) for row in rows]

    def events(
        self, run: str, *, after: int = 0, until: int | None = None, newest: int | None = None
    ) -> Iterator[EventRow]:
        """Events of a run in order: those after `after` up to `until`, or only the `newest` of them."""
        select = (
            f"SELECT {EVENT} FROM event WHERE run = (SELECT key FROM run WHERE id = ?) AND seq > ? AND seq <= ?"
            f" ORDER BY seq {'DESC' if newest is not None else 'ASC'} LIMIT ?"
        )
        bounds = (run, after, until if until is not None else 2**62, newest if newest is not None else -1)
        rows = (EventRow(run, *row) for row in self._connection.execute(select, bounds))
        return iter(list(rows)[::-1]) if newest is not None else rows

    def snapshots(self, run: str, until: int | None = None) -> list[Snapshot]:
        rows = self._connection.execute(
            "SELECT seq, fold, state FROM snapshot"
            " WHERE run = (SELECT key FROM run WHERE id = ?) AND seq <= ? ORDER BY seq",
            (run, 2**62 if until is None else until),
        )
        return [Snapshot(seq, fold, expand(state)) for seq, fold, state in rows]

    def pointer(self, worktree: str) -> str | None:
        select = "SELECT run.id FROM pointer JOIN run ON run.key = pointer.run WHERE pointer.worktree = ?"
        run: str | None = self._value(select, worktree)
        return run

    def pointers(self) -> dict[str, str]:
        select = "SELECT pointer.worktree, run.id FROM pointer JOIN run ON run.key = pointer.run"
        return dict(self._connection.execute(select))

    def find_checkpoint(self, id: str) -> CheckpointRow | None:
        row = self._row(f"SELECT {CHECKPOINT} FROM checkpoint WHERE id = ?", id)
        return _checkpoint(row) if row else None

    def list_checkpoints(
        self, worktree: str | None = None, *, run: str | None = None, limit: int | None = None
    ) -> Iterator[CheckpointRow]:
        """Checkpoints, newest first."""
        select = f"SELECT {CHECKPOINT} FROM checkpoint WHERE (?1 IS NULL OR worktree = ?1) AND (?2 IS NULL OR run = ?2)"
        rows = self._connection.execute(
            select + " ORDER BY key DESC LIMIT ?3", (worktree, run, -1 if limit is None else limit)
        )
        return map(_checkpoint, rows)

    def last_checkpoint_number(self, worktree: str) -> int:
        number: int | None = self._value("SELECT max(number) FROM checkpoint WHERE worktree = ?", worktree)
        return number or 0

    def has_event(self, id: bytes) -> bool:
        return self._value("SELECT 1 FROM event WHERE id = ?", id) is not None

    def find_event(self, id: bytes) -> EventRow | None:
        select = f"SELECT run.id, {EVENT} FROM event JOIN run ON run.key = event.run WHERE event.id = ?"
        row = self._connection.execute(select, (id,)).fetchone()
        return EventRow(*row) if row else None

    def add_event(self, row: EventRow, search: str) -> bool:
        """Add an event; False where one with this id is there already."""
        self._connection.execute(
            "INSERT INTO event (run, seq, id, kind, time, session, agent, body, sum)"
            " SELECT key, ?2, ?3, ?4, ?5, ?6, ?7, ?8, event_sum(key, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            " FROM (SELECT (SELECT key FROM run WHERE id = ?1) AS key) WHERE true ON CONFLICT (id) DO NOTHING",
            row,
        )
        if not self._connection.changes():
            return False
        if search:
            position = self._connection.last_insert_rowid()
            self._connection.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (position, search))
        return True

    def forget_words(self, run: str, seq: int) -> None:
        self._connection.execute(
            "DELETE FROM search WHERE rowid ="
            " (SELECT position FROM event WHERE run = (SELECT key FROM run WHERE id = ?) AND seq = ?)",
            (run, seq),
        )

    def put_run(self, row: RunRow) -> None:
        self._connection.execute(
            "INSERT INTO run (id, status, layout, worktree, created, updated, seq, fold, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status,"
            " layout = excluded.layout, worktree = excluded.worktree, created = excluded.created,"
            " updated = excluded.updated, seq = excluded.seq, fold = excluded.fold, state = excluded.state",
            (*row[:8], squeeze(row.state)),
        )
        key = self._value("SELECT key FROM run WHERE id = ?", row.id)
        if self._labels(key) != row.labels:
            self._connection.execute("DELETE FROM label WHERE run = ?", (key,))
            labels = ((label, key) for label in row.labels)
            self._connection.executemany("INSERT INTO label (label, run) VALUES (?, ?)", labels)

    def put_session(self, row: SessionRow) -> None:
        self._connection.execute(
            "INSERT INTO session (id, run, opened, is_open, has_process, agent_session, record)"
            " VALUES (?, (SELECT key FROM run WHERE id = ?), ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " run = excluded.run, opened = excluded.opened, is_open = excluded.is_open,"
            " has_process = excluded.has_process, agent_session = excluded.agent_session, record = excluded.record",
            row,
        )

    def put_snapshot(self, run: str, snapshot: Snapshot) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO snapshot (run, seq, fold, state)"
            " VALUES ((SELECT key FROM run WHERE id = ?), ?, ?, ?)",
            (run, snapshot.seq, snapshot.fold, squeeze(snapshot.state)),
        )

    def put_checkpoint(self, row: CheckpointRow) -> None:
        self._connection.execute(
            f"INSERT INTO checkpoint ({CHECKPOINT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE"
            " SET named = excluded.named, pinned = excluded.pinned, record = excluded.record",
            row,
        )

    def delete_checkpoint(self, id: str) -> None:
        self._connection.execute("DELETE FROM checkpoint WHERE id = ?", (id,))

    def point(self, worktree: str, run: str | None) -> None:
        if run is None:
            self._connection.execute("DELETE FROM pointer WHERE worktree = ?", (worktree,))
        else:
            self._connection.execute(
                "INSERT OR REPLACE INTO pointer (worktree, run) VALUES (?, (SELECT key FROM run WHERE id = ?))",
                (worktree, run),
            )

    def delete_run(self, run: str) -> None:
        key, values = self._value("SELECT key FROM run WHERE id = ?", run), self.blob_uses(run)
        self._connection.execute("DELETE FROM search WHERE rowid IN (SELECT position FROM event WHERE run = ?)", (key,))
        for table in ("pointer", "label", "snapshot", "session", "blob_use", "event"):
            self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (key,))
        self._release_values(values)
        self._connection.execute("DELETE FROM run WHERE key = ?", (key,))

    def _labels(self, key: int) -> frozenset[str]:
        return frozenset(
            label for (label,) in self._connection.execute("SELECT label FROM label WHERE run = ?", (key,))
        )


def _checkpoint(row: tuple[Any, ...]) -> CheckpointRow:
    found = CheckpointRow._make(row)
    return found._replace(named=bool(found.named), pinned=bool(found.pinned))


def _session(row: tuple[Any, ...]) -> SessionRow:
    id, run, opened, is_open, has_process, agent_session, record = row
    return SessionRow(id, run, opened, bool(is_open), bool(has_process), agent_session, record)


def like_fragment(fragment: str) -> str:
    """A fragment of an id for LIKE, with its wildcards made harmless (escape character: backslash)."""
    return re.sub(r"([\\%_])", r"\\\1", fragment)
