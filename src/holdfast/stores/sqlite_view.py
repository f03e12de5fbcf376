"""What one transaction of the embedded store sees, and through which it changes things: all its SQL but the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from holdfast.packing import expand, squeeze
from holdfast.stores import queries
from holdfast.stores.protocol import LEDGER, CheckpointRow, EventRow, Page, RunQuery, RunRow, SessionRow, Snapshot

RUN = "run.id, run.status, run.layout, run.worktree, run.created, run.updated, run.seq, run.fold, run.state"
EVENT = "event.seq, event.id, event.kind, event.time, event.session, event.agent, event.body"
CHECKPOINT = "id, worktree, number, run, time, named, pinned, record"
SESSION = (
    "session.id, run.id, session.opened, session.is_open, session.has_process, session.agent_session, session.record"
)


class SqliteView:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def find_run(self, id: str) -> RunRow | None:
        row = self._row(f"SELECT {RUN}, key FROM run WHERE id = ?", id)
        return self._run(row) if row else None

    def list_runs(self, query: RunQuery) -> Page:
        return self._search_runs(query) if query.search is not None else self._newest_runs(query)

    def all_run_ids(self) -> list[str]:
        return [id for (id,) in self._connection.execute("SELECT id FROM run ORDER BY key")]

    def find_ids(self, table: str, fragment: str, limit: int) -> list[str]:
        """Ids of runs or sessions that begin or end with a fragment; the part before the first dash may be left out."""
        assert table in ("run", "session", "checkpoint")
        like = queries.like_fragment(fragment)
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

    def blob(self, digest: bytes) -> bytes | None:
        data = self._value("SELECT data FROM blob WHERE digest = ?", digest)
        return None if data is None else expand(data)

    def blob_uses(self, run: str) -> set[bytes]:
        select = "SELECT digest FROM blob_use WHERE run = (SELECT key FROM run WHERE id = ?)"
        return {digest for (digest,) in self._connection.execute(select, (run,))}

    def pointer(self, worktree: str) -> str | None:
        select = "SELECT run.id FROM pointer JOIN run ON run.key = pointer.run WHERE pointer.worktree = ?"
        run: str | None = self._value(select, worktree)
        return run

    def pointers(self) -> dict[str, str]:
        select = "SELECT pointer.worktree, run.id FROM pointer JOIN run ON run.key = pointer.run"
        return dict(self._connection.execute(select))

    def found_by(self, run: str, search: str) -> bool:
        select = (
            "SELECT 1 FROM search JOIN event ON event.position = search.rowid"
            " WHERE search MATCH ? AND event.run = (SELECT key FROM run WHERE id = ?) LIMIT 1"
        )
        expression = queries.match_expression(search)
        return bool(expression) and self._value(select, expression, run) is not None

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

    def problems(self) -> list[str]:
        """What SQLite itself finds wrong."""
        found = [text for (text,) in self._connection.execute("PRAGMA integrity_check") if text != "ok"]
        for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
            found.append(f"row {row} of {table} names a {parent} that is not there")
        return found

    def has_event(self, id: bytes) -> bool:
        return self._value("SELECT 1 FROM event WHERE id = ?", id) is not None

    def add_event(self, row: EventRow, search: str) -> bool:
        """Add an event; False where one with this id is there already."""
        self._connection.execute(
            "INSERT INTO event (run, seq, id, kind, time, session, agent, body)"
            " VALUES ((SELECT key FROM run WHERE id = ?), ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
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

    def put_blob(self, run: str, digest: bytes, data: bytes) -> None:
        if self._value("SELECT 1 FROM blob WHERE digest = ?", digest) is None:
            self._connection.execute("INSERT INTO blob (digest, data) VALUES (?, ?)", (digest, squeeze(data)))
        self._connection.execute(
            "INSERT OR IGNORE INTO blob_use (run, digest) VALUES ((SELECT key FROM run WHERE id = ?), ?)", (run, digest)
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
        key = self._value("SELECT key FROM run WHERE id = ?", run)
        self._connection.execute("DELETE FROM search WHERE rowid IN (SELECT position FROM event WHERE run = ?)", (key,))
        for table in ("pointer", "label", "snapshot", "session", "blob_use", "event"):
            self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (key,))
        self._connection.execute("DELETE FROM blob WHERE digest NOT IN (SELECT digest FROM blob_use)")
        self._connection.execute("DELETE FROM run WHERE key = ?", (key,))

    def _newest_runs(self, query: RunQuery) -> Page:
        conditions, values = _conditions(query)
        if query.after:
            conditions.append("(run.updated, run.key) < (?, ?)")
            values += query.after
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        select = f"SELECT {RUN}, run.key FROM run{where} ORDER BY run.updated DESC, run.key DESC LIMIT ?"
        rows = [self._run(row) for row in self._connection.execute(select, [*values, query.limit + 1])]
        shown = rows[: query.limit]
        return Page(shown, (shown[-1].updated, shown[-1].key) if len(rows) > query.limit else None)

    def _search_runs(self, query: RunQuery) -> Page:
        """Runs by their newest event that fits. Rows are read until the page is full, not until the word runs out."""
        expression = queries.match_expression(query.search or "")
        if not expression:
            return Page([], None)
        conditions, values = _conditions(query)
        before = query.after[0] if query.after else 2**62
        seen: set[int] = set()
        last = 0
        select = (
            "SELECT search.rowid, event.run FROM search JOIN event ON event.position = search.rowid"
            " WHERE search MATCH ? AND search.rowid < ? ORDER BY search.rowid DESC"
        )
        match = " AND ".join(["run.key = ?", *conditions])
        found: list[RunRow] = []
        for position, key in self._connection.execute(select, (expression, before)):
            if key in seen or self._seen_above(key, expression, query.after):
                continue
            if len(found) == query.limit:
                return Page(found, (last, 0))
            seen.add(key)
            row = self._row(f"SELECT {RUN}, run.key FROM run WHERE {match}", key, *values)
            if row:
                found.append(self._run(row))
                last = position
        return Page(found, None)

    def _seen_above(self, key: int, expression: str, after: tuple[int, int] | None) -> bool:
        """Whether an earlier page listed this run, because a newer event of it fits too."""
        return after is not None and bool(
            self._value(
                "SELECT 1 FROM search JOIN event ON event.position = search.rowid"
                " WHERE search MATCH ? AND search.rowid >= ? AND event.run = ? LIMIT 1",
                expression,
                after[0],
                key,
            )
        )

    def _run(self, row: tuple[Any, ...]) -> RunRow:
        found = RunRow._make((*row[:9], frozenset[str](), row[9]))
        return found._replace(state=expand(found.state), labels=self._labels(found.key))

    def _labels(self, key: int) -> frozenset[str]:
        return frozenset(
            label for (label,) in self._connection.execute("SELECT label FROM label WHERE run = ?", (key,))
        )

    def _row(self, select: str, *values: object) -> tuple[Any, ...] | None:
        return self._connection.execute(select, values).fetchone()

    def _value(self, select: str, *values: object) -> Any:
        row = self._row(select, *values)
        return row[0] if row else None


def _conditions(query: RunQuery) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    for column, allowed in (("status", query.statuses), ("layout", query.layouts)):
        if allowed:
            conditions.append(f"run.{column} IN ({', '.join('?' * len(allowed))})")
            values += sorted(allowed)
    if not query.layouts:
        conditions.append("run.layout != ?")
        values.append(LEDGER)
    for label in sorted(query.labels):
        conditions.append("run.key IN (SELECT run FROM label WHERE label = ?)")
        values.append(label)
    for condition, value in (
        ("run.worktree = ?", query.worktree),
        ("run.updated >= ?", query.since),
        ("run.updated < ?", query.until),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return conditions, values


def _checkpoint(row: tuple[Any, ...]) -> CheckpointRow:
    found = CheckpointRow._make(row)
    return found._replace(named=bool(found.named), pinned=bool(found.pinned))


def _session(row: tuple[Any, ...]) -> SessionRow:
    id, run, opened, is_open, has_process, agent_session, record = row
    return SessionRow(id, run, opened, bool(is_open), bool(has_process), agent_session, record)
