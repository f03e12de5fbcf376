"""One transaction of the SQLite store: all its SQL except the schema, full-text search and health checks.

Each large value is stored once, whole or as the difference to another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

import apsw
import msgspec

from holdfast.core.errors import Damaged
from holdfast.journal import codec, store
from holdfast.journal.sqlite.connection import SUMMED

MAX = 2**62  # no number of an event is higher
LABELS = "(SELECT json_group_array(label) FROM label WHERE label.run = run.key)"
RUN = (
    "run.id, run.status, run.layout, run.worktree, run.created, run.updated, run.seq, run.fold, run.state,"
    f" {LABELS}, run.key"
)
NO_LABELS = "[]"
RUNS_AT_ONCE = 500  # that are read in one statement
KEY = "(SELECT key FROM run WHERE id = ?)"
CHECKPOINT = "id, worktree, number, run, time, named, pinned, record"
EVENT = "event.seq, event.id, event.kind, event.time, event.session, event.agent, event.body"
SESSIONS = (
    "SELECT session.id, run.id, session.opened, session.is_open, session.has_process, session.agent_session,"
    " session.record FROM session JOIN run ON run.key = session.run"
)
ENDED = ("completed", "failed", "aborted", "abandoned")

RECENT_EVENTS, CANDIDATES = 64, 4  # events in which a similar value is searched for, and values that are compared
USED = "SELECT 1 FROM blob_use WHERE digest = ? LIMIT 1"
DEPENDENTS = "SELECT digest FROM blob WHERE substr(data, 1, 1) = x'64' AND substr(data, 3, 16) = ?"  # uses the index
IS_SHARED = "(SELECT count(*) FROM blob_use WHERE blob_use.digest = blob.digest) > 1"
SIZES = f"""
SELECT run.id,
    length(run.state)
    + (SELECT coalesce(sum(length(body) + length(kind) + length(id)), 0) FROM event WHERE event.run = run.key)
    + (SELECT coalesce(sum(length(state)), 0) FROM snapshot WHERE snapshot.run = run.key)
    + (SELECT coalesce(sum(length(record)), 0) FROM session WHERE session.run = run.key),
    (SELECT coalesce(sum(length(data)), 0) FROM blob_use JOIN blob ON blob.digest = blob_use.digest
        WHERE blob_use.run = run.key AND NOT {IS_SHARED})
FROM run"""
decode_labels = msgspec.json.Decoder(frozenset[str]).decode


class SqliteView:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    # runs

    def find_run(self, id: str) -> store.RunRow | None:
        row = self._row(f"SELECT {RUN} FROM run WHERE id = ?", id)
        return run_row(row) if row else None

    def list_runs(self, query: store.RunQuery) -> store.Page:
        where = Where.of_runs(query)
        if query.search is not None:
            from holdfast.journal.sqlite.search import search_runs  # lazy: most lists search for nothing

            scores, following, is_partial = search_runs(self._connection, query, str(where), where.values)
            return store.Page(self._runs(list(scores)), following, list(scores.values()), is_partial)
        if query.after:
            where.add("(run.updated, run.key) < (?, ?)", *query.after)
        select = f"SELECT {RUN} FROM run WHERE {where} ORDER BY run.updated DESC, run.key DESC LIMIT ?"
        rows = [run_row(row) for row in self._connection.execute(select, [*where.values, query.limit + 1])]
        page = rows[: query.limit]
        return store.Page(page, (page[-1].updated, page[-1].key) if len(rows) > query.limit else None)

    def hits(self, query: store.HitQuery) -> store.Hits:
        from holdfast.journal.sqlite.search import search_events

        where = Where.of_runs(query.runs)
        where.add_any("event.kind", query.kinds)
        where.add("run.id = ?", query.run)
        where.add("event.time >= ?", query.since)
        where.add("event.time < ?", query.until)
        return search_events(self._connection, query, str(where), where.values)

    def spellings(self, search: str) -> dict[str, str]:
        from holdfast.journal.sqlite.corrections import spellings  # lazy: only a search that fails needs it

        where = Where.of_runs(store.RunQuery())
        return spellings(self._connection, search, str(where), where.values)

    def _runs(self, keys: list[int]) -> list[store.RunRow]:
        """The runs of these keys, in their order."""
        rows: dict[int, store.RunRow] = {}
        for some in (keys[first : first + RUNS_AT_ONCE] for first in range(0, len(keys), RUNS_AT_ONCE)):
            select = f"SELECT {RUN} FROM run WHERE run.key IN ({', '.join('?' * len(some))})"
            rows |= {row.key: row for row in map(run_row, self._connection.execute(select, some))}
        return [rows[key] for key in keys]

    def all_run_ids(self) -> list[str]:
        return self._column("SELECT id FROM run ORDER BY key")

    def find_ids(self, table: str, fragment: str, limit: int) -> list[str]:
        """Ids that begin or end with a fragment; the part before the first dash may be omitted."""
        assert table in ("run", "session", "checkpoint")
        return self._column(
            f"SELECT id FROM {table} WHERE id LIKE ?1 || '%' ESCAPE '\\' OR id LIKE '%' || ?1 ESCAPE '\\'"
            " OR id LIKE '%-' || ?1 || '%' ESCAPE '\\' LIMIT ?2",
            like_fragment(fragment),
            limit,
        )

    def put_run(self, row: store.RunRow) -> None:
        self._connection.execute(
            "INSERT INTO run (id, status, layout, worktree, created, updated, seq, fold, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status,"
            " layout = excluded.layout, worktree = excluded.worktree, created = excluded.created,"
            " updated = excluded.updated, seq = excluded.seq, fold = excluded.fold, state = excluded.state",
            (*row[:8], codec.squeeze(row.state)),
        )
        key = self._value("SELECT key FROM run WHERE id = ?", row.id)
        if frozenset(self._column("SELECT label FROM label WHERE run = ?", key)) != row.labels:
            self._connection.execute("DELETE FROM label WHERE run = ?", (key,))
            labels = ((label, key) for label in row.labels)
            self._connection.executemany("INSERT INTO label (label, run) VALUES (?, ?)", labels)

    def delete_run(self, run: str) -> None:
        key, digests = self._value("SELECT key FROM run WHERE id = ?", run), self.blob_uses(run)
        self._connection.execute("DELETE FROM search WHERE rowid IN (SELECT position FROM event WHERE run = ?)", (key,))
        for table in ("pointer", "label", "snapshot", "session", "blob_use", "event"):
            self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (key,))
        self._release_blobs(digests)
        self._connection.execute("DELETE FROM run WHERE key = ?", (key,))

    def snapshots(self, run: str, until: int | None = None) -> list[store.Snapshot]:
        select = f"SELECT seq, fold, state FROM snapshot WHERE run = {KEY} AND seq <= ? ORDER BY seq"
        rows = self._connection.execute(select, (run, MAX if until is None else until))
        return [store.Snapshot(seq, fold, codec.expand(state)) for seq, fold, state in rows]

    def put_snapshot(self, run: str, snapshot: store.Snapshot) -> None:
        self._connection.execute(
            f"INSERT OR REPLACE INTO snapshot (run, seq, fold, state) VALUES ({KEY}, ?, ?, ?)",
            (run, snapshot.seq, snapshot.fold, codec.squeeze(snapshot.state)),
        )

    def pointer(self, worktree: str) -> str | None:
        select = "SELECT run.id FROM pointer JOIN run ON run.key = pointer.run WHERE pointer.worktree = ?"
        run: str | None = self._value(select, worktree)
        return run

    def pointers(self) -> dict[str, str]:
        select = "SELECT pointer.worktree, run.id FROM pointer JOIN run ON run.key = pointer.run"
        return dict(self._connection.execute(select))

    def point(self, worktree: str, run: str | None) -> None:
        if run is None:
            self._connection.execute("DELETE FROM pointer WHERE worktree = ?", (worktree,))
        else:
            insert = f"INSERT OR REPLACE INTO pointer (worktree, run) VALUES (?, {KEY})"
            self._connection.execute(insert, (worktree, run))

    # sessions

    def find_session(self, id: str) -> store.SessionRow | None:
        row = self._row(f"{SESSIONS} WHERE session.id = ?", id)
        return store.SessionRow._make(row) if row else None

    def list_sessions(
        self, run: str | None = None, *, only_open: bool = False, with_process: bool = False, limit: int | None = None
    ) -> list[store.SessionRow]:
        conditions = ["run.id = ?"] if run is not None else ["1"]
        conditions += ["session.is_open = 1"] * only_open + ["session.has_process = 1"] * with_process
        values = (run,) if run is not None else ()
        return self._sessions(" AND ".join(conditions), *values, -1 if limit is None else limit)

    def sessions_of(self, conversation: str) -> list[store.SessionRow]:
        return self._sessions("session.agent_session = ?", conversation, -1)

    def _sessions(self, where: str, *values: object) -> list[store.SessionRow]:
        select = f"{SESSIONS} WHERE {where} ORDER BY session.opened DESC, session.rowid DESC LIMIT ?"
        return [store.SessionRow._make(row) for row in self._connection.execute(select, values)]

    def put_session(self, row: store.SessionRow) -> None:
        self._connection.execute(
            "INSERT INTO session (id, run, opened, is_open, has_process, agent_session, record)"
            f" VALUES (?, {KEY}, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " run = excluded.run, opened = excluded.opened, is_open = excluded.is_open,"
            " has_process = excluded.has_process, agent_session = excluded.agent_session, record = excluded.record",
            row,
        )

    # events

    def events(
        self,
        run: str,
        *,
        after: int = 0,
        until: int | None = None,
        newest: int | None = None,
        kinds: Collection[str] = (),
    ) -> Iterator[store.EventRow]:
        """Events of a run in order: those after `after` up to `until`, of these kinds, or only the `newest` of them."""
        of_kinds = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        select = (
            f"SELECT {EVENT} FROM event WHERE run = {KEY} AND seq > ? AND seq <= ?{of_kinds}"
            f" ORDER BY seq {'DESC' if newest is not None else 'ASC'} LIMIT ?"
        )
        last = until if until is not None else MAX
        bounds = (run, after, last, *kinds, newest if newest is not None else -1)
        rows = (store.EventRow(run, *row) for row in self._connection.execute(select, bounds))
        return iter(list(rows)[::-1]) if newest is not None else rows

    def has_event(self, id: bytes) -> bool:
        return self._value("SELECT 1 FROM event WHERE id = ?", id) is not None

    def find_event(self, id: bytes) -> store.EventRow | None:
        row = self._row(f"SELECT run.id, {EVENT} FROM event JOIN run ON run.key = event.run WHERE event.id = ?", id)
        return store.EventRow(*row) if row else None

    def add_event(self, row: store.EventRow, search: str) -> bool:
        """Add an event; False if one with this id exists."""
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
        select = f"SELECT position FROM event WHERE run = {KEY} AND seq = ?"
        self._connection.execute(f"DELETE FROM search WHERE rowid = ({select})", (run, seq))

    def replace_body(self, run: str, seq: int, body: bytes) -> None:
        """Change the stored body of an event. Only thinning does that."""
        self._connection.execute(
            "UPDATE event SET body = ?1, sum = event_sum(run, seq, id, kind, time, session, agent, ?1)"
            " WHERE run = (SELECT key FROM run WHERE id = ?2) AND seq = ?3",
            (body, run, seq),
        )

    def runs_with_output(self) -> list[str]:
        """Ended runs that were not thinned since, the longest idle first."""
        return self._column(
            "SELECT id FROM run WHERE thinned < seq AND status IN (?, ?, ?, ?) ORDER BY updated, key", *ENDED
        )

    def note_thinned(self, run: str) -> None:
        self._connection.execute("UPDATE run SET thinned = seq WHERE id = ?", (run,))

    # checkpoints

    def find_checkpoint(self, id: str) -> store.CheckpointRow | None:
        row = self._row(f"SELECT {CHECKPOINT} FROM checkpoint WHERE id = ?", id)
        return store.CheckpointRow._make(row) if row else None

    def list_checkpoints(
        self, worktree: str | None = None, *, run: str | None = None, limit: int | None = None
    ) -> Iterator[store.CheckpointRow]:
        """Checkpoints, newest first."""
        select = f"SELECT {CHECKPOINT} FROM checkpoint WHERE (?1 IS NULL OR worktree = ?1) AND (?2 IS NULL OR run = ?2)"
        bounds = (worktree, run, -1 if limit is None else limit)
        return map(store.CheckpointRow._make, self._connection.execute(f"{select} ORDER BY key DESC LIMIT ?3", bounds))

    def last_checkpoint_number(self, worktree: str) -> int:
        return self._value("SELECT max(number) FROM checkpoint WHERE worktree = ?", worktree) or 0

    def put_checkpoint(self, row: store.CheckpointRow) -> None:
        self._connection.execute(
            f"INSERT INTO checkpoint ({CHECKPOINT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
            " SET named = excluded.named, pinned = excluded.pinned, record = excluded.record",
            row,
        )

    def delete_checkpoint(self, id: str) -> None:
        self._connection.execute("DELETE FROM checkpoint WHERE id = ?", (id,))

    # large values

    def blob(self, digest: bytes) -> bytes | None:
        """A large value, by its hash."""
        differences: list[bytes] = []
        data = self._stored(digest)
        while data is not None and (base := codec.base_in(data)[1]):
            differences.append(data)
            if len(differences) > codec.DEEPEST:
                hints = ["`holdfast verify`"]
                raise Damaged("Corrupt store: delta chain contains a cycle", [("hash", digest.hex())], hints)
            data = self._stored(base)
        if data is None:
            return None
        value = codec.expand(data)
        for difference in reversed(differences):
            value = codec.combine(value, difference)
        return value

    def blob_uses(self, run: str) -> set[bytes]:
        return set(self._column(f"SELECT digest FROM blob_use WHERE run = {KEY}", run))

    def put_blob(self, run: str, digest: bytes, data: bytes, like: str | None = None) -> None:
        """Store a value that a run refers to, as a difference if an event of the kind `like` has a similar one."""
        if self._stored(digest) is None:
            small = self._as_difference(run, data, like) if like and len(data) >= codec.WORTH_COMPARING else None
            insert = "INSERT INTO blob (digest, data) VALUES (?, ?)"
            self._connection.execute(insert, (digest, small or codec.squeeze(data)))
        self._connection.execute(f"INSERT OR IGNORE INTO blob_use (run, digest) VALUES ({KEY}, ?)", (run, digest))

    def drop_blob_uses(self, run: str, digests: Collection[bytes]) -> None:
        """Remove a run's references to these values, and the values that nothing refers to any more."""
        delete = f"DELETE FROM blob_use WHERE run = {KEY} AND digest = ?"
        self._connection.executemany(delete, ((run, digest) for digest in digests))
        self._release_blobs(digests)

    def run_sizes(self, run: str | None = None) -> list[store.RunSize]:
        """The bytes stored for each run alone, or for one of them."""
        where, values = ("", ()) if run is None else (" WHERE run.id = ?", (run,))
        return [store.RunSize(*row) for row in self._connection.execute(SIZES + where, values)]

    def shared_bytes(self) -> int:
        """The bytes of large values that several runs refer to."""
        return int(self._value("SELECT coalesce(sum(length(data)), 0) FROM blob WHERE " + IS_SHARED))

    def stored_bytes(self, run: str, digests: Collection[bytes]) -> int:
        """The bytes of those of these values that no other run uses."""
        select = (
            "SELECT length(data) FROM blob WHERE digest = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM blob_use WHERE digest = ?1 AND run != (SELECT key FROM run WHERE id = ?2))"
        )
        return sum(self._value(select, digest, run) or 0 for digest in digests)

    def _release_blobs(self, digests: Collection[bytes]) -> None:
        """Remove those of these values that nothing uses; differences to them are first stored as a whole."""
        unused = [digest for digest in digests if not self._value(USED, digest)]
        for digest in unused:
            for found in self._column(DEPENDENTS, digest):
                if self._value(USED, found):
                    whole = codec.squeeze(self.blob(found) or b"")
                    self._connection.execute("UPDATE blob SET data = ? WHERE digest = ?", (whole, found))
        self._connection.executemany("DELETE FROM blob WHERE digest = ?", ((digest,) for digest in unused))

    def _as_difference(self, run: str, data: bytes, like: str) -> bytes | None:
        for digest in self._candidates(run, like):
            stored, base = self._stored(digest), self.blob(digest)
            if stored is None or base is None:
                continue
            if small := codec.against(base, digest, codec.base_in(stored)[0], data):
                return small
        return None

    def _candidates(self, run: str, kind: str) -> list[bytes]:
        """Values of the last event of this kind before the newest event, if it is recent."""
        select = (
            f"SELECT body FROM (SELECT kind, body, seq FROM event WHERE run = {KEY}"
            " ORDER BY seq DESC LIMIT ? OFFSET 1) WHERE kind = ? LIMIT 1"
        )
        body = self._value(select, run, RECENT_EVENTS, kind)
        return sorted(codec.blobs_in(body))[:CANDIDATES] if body is not None else []

    def _stored(self, digest: bytes) -> bytes | None:
        data: bytes | None = self._value("SELECT data FROM blob WHERE digest = ?", digest)
        return data

    # health

    def problems(self) -> list[str]:
        """Problems that SQLite itself finds."""
        found = [text for (text,) in self._connection.execute("PRAGMA integrity_check") if text != "ok"]
        for table, row, parent, _ in self._connection.execute("PRAGMA foreign_key_check"):
            found.append(f"row {row} of {table} refers to a {parent} that does not exist")
        return found

    def unsound_events(self, run: str) -> list[int]:
        """The numbers of events whose checksum does not match."""
        select = f"SELECT seq FROM event WHERE run = {KEY} AND sum != event_sum({SUMMED}) ORDER BY seq"
        return self._column(select, run)

    def schema_problems(self) -> list[str]:
        """Tables and indexes that differ from those of this format."""
        from holdfast.journal.sqlite.migrations import expected_schema, schema_of  # lazy: only `verify` needs it

        differing = sorted(schema_of(self._connection) ^ expected_schema(), key=str)
        return [f"the {kind} {name} is not the one of this format" for kind, name, _ in differing]

    def index_problems(self, words: Callable[[store.EventRow], str]) -> list[str]:
        from holdfast.journal.sqlite.health import index_problems  # lazy, as above

        return index_problems(self._connection, words)

    # inside

    def _row(self, select: str, *values: object) -> tuple[Any, ...] | None:
        return self._connection.execute(select, values).fetchone()

    def _value(self, select: str, *values: object) -> Any:
        row = self._row(select, *values)
        return row[0] if row else None

    def _column(self, select: str, *values: object) -> list[Any]:
        return [value for (value,) in self._connection.execute(select, values)]


class Where:
    """Conditions of a statement, and the values for their placeholders."""

    def __init__(self) -> None:
        self.conditions = ["true"]
        self.values: list[object] = []

    def __str__(self) -> str:
        return " AND ".join(self.conditions)

    def add(self, condition: str, *values: object) -> None:
        """Add a condition, unless one of its values is None: then nothing was asked for."""
        if None not in values:
            self.conditions.append(condition)
            self.values += values

    def add_any(self, column: str, allowed: frozenset[str]) -> None:
        if allowed:
            self.add(f"{column} IN ({', '.join('?' * len(allowed))})", *sorted(allowed))

    @classmethod
    def of_runs(cls, query: store.RunQuery) -> Where:
        where = cls()
        where.add_any("run.status", query.statuses)
        where.add_any("run.layout", query.layouts)
        if not query.layouts:
            where.add("run.layout != ?", store.LEDGER)
        for label in sorted(query.labels):
            where.add("run.key IN (SELECT run FROM label WHERE label = ?)", label)
        where.add("run.worktree = ?", query.worktree)
        where.add("run.updated >= ?", query.since)
        where.add("run.updated < ?", query.until)
        return where


def run_row(row: tuple[Any, ...]) -> store.RunRow:
    """The row that `RUN` selects."""
    labels = decode_labels(row[9]) if row[9] != NO_LABELS else frozenset[str]()
    return store.RunRow._make((*row[:8], codec.expand(row[8]), labels, row[10]))


def like_fragment(fragment: str) -> str:
    """A fragment of an id for LIKE, with its wildcards escaped by a backslash."""
    return re.sub(r"([\\%_])", r"\\\1", fragment)
