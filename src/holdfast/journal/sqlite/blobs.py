"""The large values of the embedded store: each is stored once, whole or as the difference to another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import apsw

from holdfast.core.errors import Damaged
from holdfast.journal import codec
from holdfast.journal.store import RunSize

LOOKED_BACK = 64  # events among which a value that may be alike is looked for
CANDIDATES = 4
ENDED = ("completed", "failed", "aborted", "abandoned")
USED = "SELECT 1 FROM blob_use WHERE digest = ? LIMIT 1"
RESTING = "SELECT digest FROM blob WHERE substr(data, 1, 1) = x'64' AND substr(data, 3, 16) = ?"  # as its index says
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


class SqliteValues:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def blob(self, digest: bytes) -> bytes | None:
        """A large value, by its hash."""
        differences: list[bytes] = []
        data = self._stored(digest)
        while data is not None and (base := codec.base_in(data)[1]):
            differences.append(data)
            if len(differences) > codec.DEEPEST:
                raise Damaged("A stored value rests on itself", [("hash", digest.hex())], ["`holdfast verify`"])
            data = self._stored(base)
        if data is None:
            return None
        value = codec.expand(data)
        for difference in reversed(differences):
            value = codec.combine(value, difference)
        return value

    def blob_uses(self, run: str) -> set[bytes]:
        select = "SELECT digest FROM blob_use WHERE run = (SELECT key FROM run WHERE id = ?)"
        return {digest for (digest,) in self._connection.execute(select, (run,))}

    def put_blob(self, run: str, digest: bytes, data: bytes, like: str | None = None) -> None:
        """Store a value that a run refers to; as a difference, where an event of the kind `like` had one like it."""
        if self._stored(digest) is None:
            small = self._as_difference(run, data, like) if like and len(data) >= codec.WORTH_COMPARING else None
            self._connection.execute(
                "INSERT INTO blob (digest, data) VALUES (?, ?)", (digest, small or codec.squeeze(data))
            )
        self._connection.execute(
            "INSERT OR IGNORE INTO blob_use (run, digest) VALUES ((SELECT key FROM run WHERE id = ?), ?)", (run, digest)
        )

    def runs_with_output(self) -> list[str]:
        """Runs that have ended and were not thinned out since, the one first in which nothing happened for longest."""
        select = "SELECT id FROM run WHERE thinned < seq AND status IN (?, ?, ?, ?) ORDER BY updated, key"
        return [id for (id,) in self._connection.execute(select, ENDED)]

    def stored_bytes(self, run: str, digests: Collection[bytes]) -> int:
        """What those of these values take that only this run uses."""
        select = (
            "SELECT length(data) FROM blob WHERE digest = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM blob_use WHERE digest = ?1 AND run != (SELECT key FROM run WHERE id = ?2))"
        )
        return sum(self._value(select, digest, run) or 0 for digest in digests)

    def run_sizes(self, run: str | None = None) -> list[RunSize]:
        """What is stored for each run alone, or for one of them."""
        where = "" if run is None else " WHERE run.id = ?"
        found = self._connection.execute(SIZES + where, () if run is None else (run,))
        return [RunSize(*row) for row in found]

    def shared_bytes(self) -> int:
        """What large values take that several runs refer to."""
        return int(self._value("SELECT coalesce(sum(length(data)), 0) FROM blob WHERE " + IS_SHARED))

    def replace_body(self, run: str, seq: int, body: bytes) -> None:
        """Change the stored body of an event. Only thinning out does that."""
        self._connection.execute(
            "UPDATE event SET body = ?1, sum = event_sum(run, seq, id, kind, time, session, agent, ?1)"
            " WHERE run = (SELECT key FROM run WHERE id = ?2) AND seq = ?3",
            (body, run, seq),
        )

    def note_thinned(self, run: str) -> None:
        self._connection.execute("UPDATE run SET thinned = seq WHERE id = ?", (run,))

    def drop_blob_uses(self, run: str, digests: Collection[bytes]) -> None:
        """A run does not refer to these values any more; those that nobody needs go."""
        self._connection.executemany(
            "DELETE FROM blob_use WHERE run = (SELECT key FROM run WHERE id = ?) AND digest = ?",
            ((run, digest) for digest in digests),
        )
        self._release_values(digests)

    def _release_values(self, digests: Collection[bytes]) -> None:
        """Remove those of these values that nobody uses. What rests on one of them is stored as a whole first."""
        unused = [digest for digest in digests if not self._value(USED, digest)]
        for digest in unused:
            resting = [found for (found,) in self._connection.execute(RESTING, (digest,))]
            for found in resting:
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

    def _candidates(self, run: str, kind: str) -> Iterator[bytes]:
        """Values of the last event of this kind before the newest, if that is not long ago."""
        select = (
            "SELECT body FROM (SELECT kind, body, seq FROM event WHERE run = (SELECT key FROM run WHERE id = ?)"
            " ORDER BY seq DESC LIMIT ? OFFSET 1) WHERE kind = ? LIMIT 1"
        )
        body = self._value(select, run, LOOKED_BACK, kind)
        yield from sorted(codec.blobs_in(body))[:CANDIDATES] if body is not None else []

    def _stored(self, digest: bytes) -> bytes | None:
        data: bytes | None = self._value("SELECT data FROM blob WHERE digest = ?", digest)
        return data

    def _row(self, select: str, *values: object) -> tuple[Any, ...] | None:
        return self._connection.execute(select, values).fetchone()

    def _value(self, select: str, *values: object) -> Any:
        row = self._row(select, *values)
        return row[0] if row else None
