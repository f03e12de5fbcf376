"""Rebuild a damaged database from the events that are left in it and in backups.

Everything else in a database is folded from the events. The new database is verified before it replaces the old one,
whose files are kept. All that is left, and the plan, which has the source of each event, are in a temporary database,
because they are as long as the journal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.model import Event
from holdfast.journal import backup_file, codec
from holdfast.journal.sqlite import salvage
from holdfast.journal.sqlite.copy import replace_database
from holdfast.journal.sqlite.transaction import SqliteView
from holdfast.journal.store import EventRow, Rebuilding, Rebuilt, Store
from holdfast.system import files

Place = tuple[int, int]  # of an event: its source and the position there
LOST = "event.lost"
BATCH = 1_000  # events in one commit
WEIGHT = 4_000_000  # bytes of large values in one commit
GONE = b"[lost]"
DAMAGED = 0  # the number of the damaged database among the sources; the others are backups, newest first
SCHEMA = f"""
{salvage.SCHEMA}
CREATE TABLE found (run, seq, source, position, is_sound, id, PRIMARY KEY (source, run, seq)) WITHOUT ROWID;
CREATE TABLE taken (run, seq, source, position, is_sound, id, PRIMARY KEY (run, seq)) WITHOUT ROWID;
CREATE TABLE used (id BLOB PRIMARY KEY) WITHOUT ROWID;
"""
COLUMNS = "run, seq, source, position, is_sound, id"
SOUNDER = "DO UPDATE SET source = excluded.source, position = excluded.position, is_sound = 1, id = excluded.id"
SOUNDER += " WHERE excluded.is_sound > is_sound"
FIND = f"""
INSERT INTO found ({COLUMNS}) SELECT run.id, event.seq, event.source, position, is_sound, event.id
FROM event JOIN run ON run.source = event.source AND run.key = event.run WHERE true
ORDER BY event.source, position ON CONFLICT {SOUNDER}
"""
TAKE = f"""
INSERT INTO taken ({COLUMNS}) SELECT {COLUMNS} FROM found WHERE source = ? AND run = ? AND seq <= ?
ON CONFLICT {SOUNDER}
"""
BOTH = "FROM found JOIN taken USING (run, seq) WHERE found.source = ? AND found.run = ?"
DIVERGED = f"SELECT EXISTS (SELECT 1 {BOTH} AND found.is_sound AND taken.is_sound AND found.id != taken.id)"
LAST_COMMON = f"SELECT coalesce(max(seq), 0) {BOTH} AND found.id = taken.id"
IN_ORDER = """
SELECT run, seq, source, position FROM
    (SELECT *, max(position) OVER (PARTITION BY run ORDER BY seq) AS place FROM taken)
ORDER BY place, run, seq
"""
POINTERS = """
SELECT worktree, id FROM pointer JOIN run ON run.source = pointer.source AND run.key = pointer.run
WHERE id IN (SELECT run FROM taken) ORDER BY pointer.source DESC
"""


def rebuild(path: Path, room: Path, new: Store, backups: list[Path], aside: Path, journal: Rebuilding) -> Rebuilt:
    """Rebuild a database as a new store in the directory `room`, and replace the old one by it."""
    with contextlib.closing(apsw.Connection("")) as left, contextlib.closing(new):
        left.execute(SCHEMA)
        left.execute("BEGIN")  # never committed: the database is private
        damaged = salvage.salvage(path, _room(room, "damaged"), left, DAMAGED)
        names = [""]
        for number, backup in enumerate(backups):
            if made := _open_backup(backup, _room(room, f"backup-{number}"), left, len(names)):
                names.append(f"backups/{backup.name}, made {made}")
        builder = Builder(journal, left, damaged, names)
        builder.build(new)
        with new.reading() as view:
            problems = journal.prove(view)
        if problems:
            facts = [("problem", problems[0]), ("problems", len(problems))]
            hints = ["`holdfast restore-backup FILE` restores a backup"]
            raise Damaged("The rebuilt journal is inconsistent", facts, hints)
    used = [names[number] for number in sorted(builder.used - {DAMAGED})]
    if damaged is None:
        builder.lost.append(f"everything after {used[0]}" if used else "the journal: there is no backup")
    return Rebuilt(builder.events, builder.lost, used, replace_database(path, room / path.name, aside))


def _room(directory: Path, name: str) -> Path:
    files.make_private_directory(directory / name)
    return directory / name


def _open_backup(path: Path, directory: Path, left: apsw.Connection, source: int) -> str | None:
    """Salvage the database of a backup, and return the time of the backup; None if it is unusable."""
    database = directory / backup_file.DATABASE
    try:
        contents = backup_file.read_archive(path, lambda name: database if name == backup_file.DATABASE else None)
    except HoldfastError:
        return None
    return contents.made if salvage.salvage(database, directory, left, source) else None


class Values(SqliteView):
    """The large values of one source."""

    def __init__(self, connection: apsw.Connection, source: int) -> None:
        super().__init__(connection)
        self._source = source

    def _stored(self, digest: bytes) -> bytes | None:
        data: bytes | None = self._value("SELECT data FROM blob WHERE source = ? AND digest = ?", self._source, digest)
        return data


class Builder:
    """Adds each event from its best source to a new journal; an undamaged version is preferred."""

    def __init__(
        self, journal: Rebuilding, left: apsw.Connection, damaged: salvage.Salvaged | None, names: list[str]
    ) -> None:
        self._journal = journal
        self._left = left
        self._is_left = [name.startswith(f"backups/{backup_file.REPLACED}") for name in names]
        self._values = [Values(left, source) for source in range(len(names))]
        self._may_lack_runs = damaged is None or not damaged.is_complete
        self._weight = 0  # bytes of large values in uncommitted events
        self.used: set[int] = set()  # sources that provided events
        self.events = 0
        self.lost: list[str] = []
        if damaged and damaged.lost_pages:
            self.lost.append(f"the contents of {damaged.lost_pages:,} pages of the log, which were written last")

    def build(self, store: Store) -> None:
        self._choose()
        total, batch = int(self._left.execute("SELECT count(*) FROM taken").get), list[Event]()
        for run, seq, place in self._in_order():
            batch.append(self._event(run, seq, place))
            self.events += 1
            if len(batch) == BATCH or self._weight > WEIGHT:
                with store.writing() as view:
                    self._journal.add(view, batch)
                batch, self._weight = [], 0
                self._journal.progress(self.events, total)
        with store.writing() as view:
            self._journal.add(view, batch)
            for worktree, run in self._left.execute(POINTERS):  # which no event records
                view.point(worktree, run)

    def _choose(self) -> None:
        """Choose the source of each event."""
        self._left.execute(FIND)
        known = {id for (id,) in self._left.execute("SELECT id FROM run WHERE source = ?", (DAMAGED,))}
        select = "SELECT id, seq FROM run WHERE source = ? AND seq IS NOT NULL ORDER BY key"
        lengths: dict[str, int] = dict(
            self._left.execute(select, (DAMAGED,))
        )  # the number of events each run should have
        runs: list[Any] = self._left.execute("SELECT DISTINCT source, run FROM found ORDER BY source, run").fetchall()
        for source, run in runs:
            # a run that is lost can be in the newest backup; one that only older backups have was deleted since
            if source and run not in known and not (source == 1 and self._may_lack_runs):
                continue
            if not self._last(run):
                self._left.execute(TAKE, (source, run, 2**62))
            elif not self._left.execute(DIVERGED, (source, run)).get:
                until = lengths.get(run, 2**62)  # the last event that it may fill in
                if self._is_left[source]:  # a backup of an abandoned history
                    until = self._left.execute(LAST_COMMON, (source, run)).get
                self._left.execute(TAKE, (source, run, until))
        for run, length in lengths.items():
            if length > (last := self._last(run)) > 0:
                self.lost.append(f"the events of {run} after {last}, up to {length}")

    def _last(self, run: str) -> int:
        """The highest number of a run's events that were chosen; 0 if there are none."""
        return int(self._left.execute("SELECT coalesce(max(seq), 0) FROM taken WHERE run = ?", (run,)).get)

    def _in_order(self) -> Iterator[tuple[str, int, Place | None]]:
        """All events in order of commit; each missing number comes before the next one of its run."""
        last: dict[str, int] = {}
        for run, seq, source, position in self._left.execute(IN_ORDER):
            yield from ((run, missing, None) for missing in range(last.get(run, 0) + 1, seq))
            last[run] = seq
            yield run, seq, (source, position)

    def _event(self, run: str, seq: int, place: Place | None) -> Event:
        event = self._read(run, seq, place) if place else None
        if event is None or not self._is_new(event.id):
            event = self._stand_in(run, seq)
            self._is_new(event.id)
        return event

    def _is_new(self, id: str) -> bool:
        """True if this is the first event with its id."""
        self._left.execute("INSERT OR IGNORE INTO used VALUES (?)", (bytes.fromhex(id),))
        return self._left.changes() == 1

    def _read(self, run: str, seq: int, place: Place) -> Event | None:
        select = "SELECT seq, id, kind, time, session, agent, body, is_sound FROM event"
        *values, is_sound = self._left.execute(f"{select} WHERE source = ? AND position = ?", place).get
        try:
            event = codec.event_of(EventRow(run, *values), lambda digest: self._value(run, seq, digest))
        except (HoldfastError, OverflowError, ValueError, OSError):
            return None
        if not is_sound:
            self.lost.append(f"event {seq} of {run} has changed since it was written; it is kept as found")
        self.used.add(place[0])
        return event

    def _value(self, run: str, seq: int, digest: bytes) -> bytes:
        for source, values in enumerate(self._values):
            with contextlib.suppress(HoldfastError):
                data = values.blob(digest)
                if data is not None and codec.digest_of(data) == digest:
                    self.used.add(source)
                    self._weight += len(data)
                    return data
        self.lost.append(f"a large value of event {seq} of {run}")
        return GONE

    def _stand_in(self, run: str, seq: int) -> Event:
        """A placeholder for a lost event. The first event of a run is recreated from the run's state."""
        state = self._state(run) if seq == 1 else {}
        rest = "; its goal and worktree are kept" if state else ""
        self.lost.append(f"event {seq} of {run}{rest}")
        created = state.pop("created", None)
        time = created if isinstance(created, datetime) else self._journal.now()
        id = ids.make_event(int(time.timestamp() * 1e6))
        return Event(run, seq, id, "run.started" if state else LOST, time, None, None, state)

    def _state(self, run: str) -> dict[str, Any]:
        select = "SELECT state FROM run WHERE source = ? AND id = ? AND typeof(state) = 'blob'"
        stored = self._left.execute(select, (DAMAGED, run)).get
        try:
            known = codec.decode_run(codec.expand(stored), run) if stored else None
        except HoldfastError:
            known = None
        if known is None:
            return {}
        return {"goal": known.goal, "layout": known.layout, "worktree": known.worktree, "created": known.created}
