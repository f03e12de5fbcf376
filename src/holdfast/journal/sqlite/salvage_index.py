"""Where each event is to be had when a journal is built anew: a list that is as long as the journal, so it lies in a
file that nobody sees. Sources are numbered; the first is the damaged database, the others are backups, newest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import apsw

from holdfast.journal.store import EventRow

SCHEMA = """
CREATE TABLE run (key INTEGER PRIMARY KEY, id TEXT UNIQUE);
CREATE TABLE found (run, seq, source, position, is_sound, id, PRIMARY KEY (source, run, seq)) WITHOUT ROWID;
CREATE TABLE taken (run, seq, source, position, is_sound, id, PRIMARY KEY (run, seq)) WITHOUT ROWID;
CREATE TABLE used (id BLOB PRIMARY KEY) WITHOUT ROWID;
"""
SOUNDER = "DO UPDATE SET source = excluded.source, position = excluded.position, is_sound = 1, id = excluded.id"
SOUNDER += " WHERE excluded.is_sound > is_sound"
BOTH = "FROM found JOIN taken USING (run, seq) WHERE found.source = ?1 AND found.run = ?2"
COLUMNS = "run, seq, source, position, is_sound, id"
KEY = "(SELECT key FROM run WHERE id = ?)"
IN_ORDER = """
SELECT run.id, seq, source, position FROM
    (SELECT *, max(position) OVER (PARTITION BY run ORDER BY seq) AS place FROM taken) JOIN run ON run.key = run
ORDER BY place, run, seq
"""


class Place(NamedTuple):
    """Where an event is to be had: in which source, at which position there."""

    source: int
    position: int


class Plan:
    """For each run and number, where the event is to be had; a sound one before one that has changed."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._connection.execute(SCHEMA)
        self._connection.execute("BEGIN")  # for good: nobody else ever looks

    def close(self) -> None:
        self._connection.close()

    def note(self, source: int, position: int, row: EventRow, is_sound: bool) -> None:
        """A source has this event."""
        self._connection.execute("INSERT OR IGNORE INTO run (id) VALUES (?)", (row.run,))
        self._connection.execute(
            f"INSERT INTO found ({COLUMNS}) VALUES ({KEY}, ?, ?, ?, ?, ?) ON CONFLICT {SOUNDER}",
            (row.run, row.seq, source, position, is_sound, row.id),
        )

    def runs_of(self, source: int) -> list[str]:
        """The runs of which a source has events."""
        select = "SELECT DISTINCT run.id FROM found JOIN run ON run.key = found.run WHERE source = ? ORDER BY key"
        return [id for (id,) in self._connection.execute(select, (source,))]

    def last(self, run: str) -> int:
        """The highest number of a run that is taken from somewhere; 0 where none is."""
        return int(self._connection.execute(f"SELECT coalesce(max(seq), 0) FROM taken WHERE run = {KEY}", (run,)).get)

    def take(self, source: int, run: str, until: int | None = None) -> None:
        """Take from a source what is missing, or has changed, up to a number."""
        self._connection.execute(
            f"INSERT INTO taken ({COLUMNS}) SELECT {COLUMNS} FROM found WHERE source = ? AND run = {KEY} AND seq <= ?"
            f" ON CONFLICT {SOUNDER}",
            (source, run, 2**62 if until is None else until),
        )

    def went_another_way(self, source: int, run: str) -> bool:
        """Whether a source has other events of a run under the same numbers as those that are taken."""
        where = "found.is_sound AND taken.is_sound AND found.id != taken.id"
        return bool(self._connection.execute(f"SELECT EXISTS (SELECT 1 {BOTH} AND {where})", self._of(source, run)).get)

    def last_common(self, source: int, run: str) -> int:
        """Up to which number a source has events of a run that are taken too."""
        select = f"SELECT coalesce(max(seq), 0) {BOTH} AND found.id = taken.id"
        return int(self._connection.execute(select, self._of(source, run)).get)

    def runs(self) -> list[str]:
        """The runs of which anything is taken."""
        select = "SELECT id FROM run WHERE EXISTS (SELECT 1 FROM taken WHERE taken.run = run.key) ORDER BY key"
        return [id for (id,) in self._connection.execute(select)]

    def total(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM taken").get)

    def in_order(self) -> Iterator[tuple[str, int, Place | None]]:
        """All events in order of commit. A number that is nowhere to be had comes before the next one of its run."""
        last: dict[str, int] = {}
        for run, seq, source, position in self._connection.execute(IN_ORDER):
            yield from ((run, missing, None) for missing in range(last.get(run, 0) + 1, seq))
            last[run] = seq
            yield run, seq, Place(source, position)

    def is_new(self, id: str) -> bool:
        """Whether an event's id was not asked about before."""
        self._connection.execute("INSERT OR IGNORE INTO used VALUES (?)", (bytes.fromhex(id),))
        return self._connection.changes() == 1

    def _of(self, source: int, run: str) -> tuple[int, int]:
        return source, int(self._connection.execute(f"SELECT {KEY}", (run,)).get)
