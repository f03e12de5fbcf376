"""Rebuild a damaged database from the events that are left in it and in backups.

Everything else in a database is folded from the events. The new database is verified before it replaces the old one,
whose files are kept. The plan, which has the source of each event, is in a temporary database, because it is as long as
the journal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.model import Event
from holdfast.journal import backup_file, codec
from holdfast.journal.sqlite.copy import replace_database
from holdfast.journal.sqlite.salvage import Salvage, salvage
from holdfast.journal.store import EventRow, Rebuilding, Rebuilt, Store, Writer
from holdfast.system import files

LOST = "event.lost"
BATCH = 1_000  # events in one commit
WEIGHT = 4_000_000  # bytes of large values in one commit
GONE = b"[lost]"
DAMAGED = 0  # the number of the damaged database among the sources; the others are backups, newest first
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


def rebuild(path: Path, room: Path, new: Store, backups: list[Path], aside: Path, journal: Rebuilding) -> Rebuilt:
    """Rebuild a database as a new store in the directory `room`, and replace the old one by it."""
    with contextlib.ExitStack() as stack:
        sources = [salvage(path, _room(room, "damaged"))]
        names = [""]
        for number, backup in enumerate(backups):
            made, found = _open_backup(backup, _room(room, f"backup-{number}"))
            if found is not None:
                names.append(f"backups/{backup.name}, made {made}")
                sources.append(found)
        plan = Plan()
        stack.callback(plan.close)
        stack.callback(new.close)
        for source in filter(None, sources):
            stack.callback(source.close)
        builder = Builder(journal, sources, names, plan)
        builder.build(new)
        with new.reading() as view:
            problems = journal.prove(view)
        if problems:
            raise Damaged(
                "The rebuilt journal is inconsistent",
                [("problem", problems[0]), ("problems", len(problems))],
                ["`holdfast restore-backup FILE` restores a backup"],
            )
    used = [names[number] for number in sorted(builder.used - {DAMAGED})]
    if sources[DAMAGED] is None:
        builder.lost.append(f"everything after {used[0]}" if used else "the journal: there is no backup")
    return Rebuilt(builder.events, builder.lost, used, replace_database(path, room / path.name, aside))


def _room(directory: Path, name: str) -> Path:
    files.make_private_directory(directory / name)
    return directory / name


def _open_backup(path: Path, directory: Path) -> tuple[str, Salvage | None]:
    """The time of a backup and the rows in its database; None if the backup is unusable."""
    database = directory / backup_file.DATABASE
    try:
        contents = backup_file.read_archive(path, lambda name: database if name == backup_file.DATABASE else None)
    except HoldfastError:
        return "", None
    return contents.made, salvage(database, directory)


class Builder:
    """Adds each event from its best source to a new journal."""

    def __init__(self, journal: Rebuilding, sources: list[Salvage | None], names: list[str], plan: Plan) -> None:
        self._journal = journal
        self._is_left = [name.startswith(f"backups/{backup_file.REPLACED}") for name in names]
        self._sources = sources
        self._plan = plan
        self._runs = [source.runs() if source else {} for source in sources]
        self._weight = 0  # bytes of large values in uncommitted events
        self.used: set[int] = set()  # sources that provided events
        self.events = 0
        self.lost: list[str] = []
        if (damaged := sources[DAMAGED]) and damaged.lost_pages:
            self.lost.append(f"the contents of {damaged.lost_pages:,} pages of the log, which were written last")

    def build(self, store: Store) -> None:
        self._choose()
        total, batch = self._plan.total(), list[Event]()
        for run, seq, place in self._plan.in_order():
            batch.append(self._event(run, seq, place))
            self.events += 1
            if len(batch) == BATCH or self._weight > WEIGHT:
                with store.writing() as view:
                    self._journal.add(view, batch)
                batch, self._weight = [], 0
                self._journal.progress(self.events, total)
        with store.writing() as view:
            self._journal.add(view, batch)
            self._add_pointers(view, set(self._plan.runs()))

    def _choose(self) -> None:
        """Choose the source of each event."""
        for number, source in enumerate(self._sources):
            for left in source.events(self._runs[number]) if source else ():
                self._plan.note(number, left.position, left.row, left.is_sound)
        known = set(self._runs[DAMAGED].values())
        damaged = self._sources[DAMAGED]
        lengths = damaged.lengths() if damaged else {}
        for number in range(len(self._sources)):
            for run in self._plan.runs_of(number):
                if number and run not in known and not self._may_have_lost_runs(number):
                    continue
                if not self._plan.last(run):
                    self._plan.take(number, run)
                elif not self._plan.has_diverged(number, run):
                    self._plan.take(number, run, self._until(number, run, lengths.get(run)))
        for run, length in lengths.items():
            if length > (last := self._plan.last(run)) > 0:
                self.lost.append(f"the events of {run} after {last}, up to {length}")

    def _until(self, number: int, run: str, length: int | None) -> int | None:
        """The last event that a backup may fill in; for a backup of an abandoned history, the last common one."""
        return self._plan.last_common(number, run) if self._is_left[number] else length

    def _may_have_lost_runs(self, number: int) -> bool:
        """True if a run in this backup may be lost. One that only older backups have was deleted since."""
        newest = next((other for other, source in enumerate(self._sources) if other and source), 0)
        damaged = self._sources[DAMAGED]
        return number == newest and (damaged is None or not damaged.is_complete)

    def _event(self, run: str, seq: int, place: Place | None) -> Event:
        event = self._read(run, seq, place) if place else None
        if event is None or not self._plan.is_new(event.id):
            event = self._stand_in(run, seq)
            self._plan.is_new(event.id)
        return event

    def _read(self, run: str, seq: int, place: Place) -> Event | None:
        source = self._sources[place.source]
        assert source is not None
        left = source.event_at(place.position, self._runs[place.source])
        try:
            event = codec.event_of(left.row, lambda digest: self._value(run, seq, digest))
        except (HoldfastError, OverflowError, ValueError, OSError):
            return None
        if not left.is_sound:
            self.lost.append(f"event {seq} of {run} has changed since it was written; it is kept as found")
        self.used.add(place.source)
        return event

    def _value(self, run: str, seq: int, digest: bytes) -> bytes:
        for number, source in enumerate(self._sources):
            data = source.blob(digest) if source else None
            if data is not None and codec.digest_of(data) == digest:
                self.used.add(number)
                self._weight += len(data)
                return data
        self.lost.append(f"a large value of event {seq} of {run}")
        return GONE

    def _stand_in(self, run: str, seq: int) -> Event:
        """A placeholder for a lost event. The first event of a run is recreated from the run's state."""
        now = self._journal.now()
        state = self._state(run) if seq == 1 else {}
        rest = "; its goal and worktree are kept" if state else ""
        self.lost.append(f"event {seq} of {run}{rest}")
        time = state.pop("created", now) if isinstance(state.get("created"), datetime) else now
        return Event(
            run,
            seq,
            ids.make_event(int(time.timestamp() * 1e6)),
            "run.started" if state else LOST,
            time,
            None,
            None,
            state,
        )

    def _state(self, run: str) -> dict[str, Any]:
        damaged = self._sources[DAMAGED]
        stored = damaged.state(run) if damaged else None
        try:
            known = codec.decode_run(codec.expand(stored), run) if stored else None
        except HoldfastError:
            known = None
        if known is None:
            return {}
        return {"goal": known.goal, "layout": known.layout, "worktree": known.worktree, "created": known.created}

    def _add_pointers(self, view: Writer, runs: set[str]) -> None:
        """Add the current run of each worktree, which no event records."""
        for number, source in reversed(list(enumerate(self._sources))):
            for worktree, key in (source.pointers() if source else {}).items():
                if self._runs[number].get(key) in runs:
                    view.point(worktree, self._runs[number][key])


class Place(NamedTuple):
    """The place of an event: its source and the position there."""

    source: int
    position: int


class Plan:
    """The place of each event, by run and number; an undamaged version is preferred."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._connection.execute(SCHEMA)
        self._connection.execute("BEGIN")  # never committed: the database is private

    def close(self) -> None:
        self._connection.close()

    def note(self, source: int, position: int, row: EventRow, is_sound: bool) -> None:
        """Note that a source has this event."""
        self._connection.execute("INSERT OR IGNORE INTO run (id) VALUES (?)", (row.run,))
        self._connection.execute(
            f"INSERT INTO found ({COLUMNS}) VALUES ({KEY}, ?, ?, ?, ?, ?) ON CONFLICT {SOUNDER}",
            (row.run, row.seq, source, position, is_sound, row.id),
        )

    def runs_of(self, source: int) -> list[str]:
        """The runs with events in a source."""
        select = "SELECT DISTINCT run.id FROM found JOIN run ON run.key = found.run WHERE source = ? ORDER BY key"
        return [id for (id,) in self._connection.execute(select, (source,))]

    def last(self, run: str) -> int:
        """The highest number of a run's events in the plan; 0 if there are none."""
        return int(self._connection.execute(f"SELECT coalesce(max(seq), 0) FROM taken WHERE run = {KEY}", (run,)).get)

    def take(self, source: int, run: str, until: int | None = None) -> None:
        """Take missing or damaged events from a source, up to a number."""
        self._connection.execute(
            f"INSERT INTO taken ({COLUMNS}) SELECT {COLUMNS} FROM found WHERE source = ? AND run = {KEY} AND seq <= ?"
            f" ON CONFLICT {SOUNDER}",
            (source, run, 2**62 if until is None else until),
        )

    def has_diverged(self, source: int, run: str) -> bool:
        """True if a source has other events of a run under the same numbers as the plan."""
        where = "found.is_sound AND taken.is_sound AND found.id != taken.id"
        return bool(self._connection.execute(f"SELECT EXISTS (SELECT 1 {BOTH} AND {where})", self._of(source, run)).get)

    def last_common(self, source: int, run: str) -> int:
        """The highest number under which source and plan have the same event of a run."""
        select = f"SELECT coalesce(max(seq), 0) {BOTH} AND found.id = taken.id"
        return int(self._connection.execute(select, self._of(source, run)).get)

    def runs(self) -> list[str]:
        """The runs with events in the plan."""
        select = "SELECT id FROM run WHERE EXISTS (SELECT 1 FROM taken WHERE taken.run = run.key) ORDER BY key"
        return [id for (id,) in self._connection.execute(select)]

    def total(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM taken").get)

    def in_order(self) -> Iterator[tuple[str, int, Place | None]]:
        """All events in order of commit; each missing number comes before the next one of its run."""
        last: dict[str, int] = {}
        for run, seq, source, position in self._connection.execute(IN_ORDER):
            yield from ((run, missing, None) for missing in range(last.get(run, 0) + 1, seq))
            last[run] = seq
            yield run, seq, Place(source, position)

    def is_new(self, id: str) -> bool:
        """True if this is the first event with its id."""
        self._connection.execute("INSERT OR IGNORE INTO used VALUES (?)", (bytes.fromhex(id),))
        return self._connection.changes() == 1

    def _of(self, source: int, run: str) -> tuple[int, int]:
        return source, int(self._connection.execute(f"SELECT {KEY}", (run,)).get)
