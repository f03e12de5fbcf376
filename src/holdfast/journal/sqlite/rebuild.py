"""Building a damaged database anew from the events that are left in it, and in backups.

Everything else in a database is folded from the events, so only they are looked for. The new database is proven before
it takes the old one's place, and the old files stay aside. A plan, which is as long as the journal and so lies in a
temporary database, says where each event comes from.
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
from holdfast.journal import backup_file, codec, rows
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
    """Build the database of a path anew, as a new store of that name in a room, and let that take its place."""
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
                "What is left of the journal does not fit together",
                [("problem", problems[0]), ("problems", len(problems))],
                ["`holdfast restore-backup FILE` puts a backup back"],
            )
    used = [names[number] for number in sorted(builder.used - {DAMAGED})]
    if sources[DAMAGED] is None:
        builder.lost.append(f"what happened after {used[0]}" if used else "the journal: no backup is left")
    return Rebuilt(builder.events, builder.lost, used, replace_database(path, room / path.name, aside))


def _room(directory: Path, name: str) -> Path:
    files.make_private_directory(directory / name)
    return directory / name


def _open_backup(path: Path, directory: Path) -> tuple[str, Salvage | None]:
    """When a backup was made, and the database in it; None where it is no use."""
    database = directory / backup_file.DATABASE
    try:
        contents = backup_file.read_archive(path, lambda name: database if name == backup_file.DATABASE else None)
    except HoldfastError:
        return "", None
    return contents.made, salvage(database, directory)


class Builder:
    """Takes each event from the best place it is to be had, and adds it to a new journal."""

    def __init__(self, journal: Rebuilding, sources: list[Salvage | None], names: list[str], plan: Plan) -> None:
        self._journal = journal
        self._is_left = [name.startswith(f"backups/{backup_file.REPLACED}") for name in names]
        self._sources = sources
        self._plan = plan
        self._runs = [source.runs() if source else {} for source in sources]
        self._weight = 0  # bytes of large values in the events that wait for their commit
        self.used: set[int] = set()  # sources that events came from
        self.events = 0
        self.lost: list[str] = []
        if (damaged := sources[DAMAGED]) and damaged.lost_pages:
            self.lost.append(f"what {damaged.lost_pages:,} pages of the log held, which were written last")

    def build(self, store: Store) -> None:
        self._choose()
        total, batch = self._plan.total(), list[Event]()
        for run, seq, place in self._plan.in_order():
            batch.append(self._event(run, seq, place))
            self.events += 1
            if len(batch) == BATCH or self._weight > WEIGHT:
                self._add(store, batch)
                batch, self._weight = [], 0
                self._journal.told(self.events, total)
        self._add(store, batch)
        with store.writing() as view:
            self._add_the_rest(view, set(self._plan.runs()))

    def _choose(self) -> None:
        """Choose for each run and number where its event is taken from."""
        for number, source in enumerate(self._sources):
            for left in source.events(self._runs[number]) if source else ():
                self._plan.note(number, left.position, left.row, left.is_sound)
        known = set(self._runs[DAMAGED].values())
        damaged = self._sources[DAMAGED]
        lengths = damaged.lengths() if damaged else {}
        for number in range(len(self._sources)):
            for run in self._plan.runs_of(number):
                if number and run not in known and not self._may_have_lost(number):
                    continue
                if not self._plan.last(run):
                    self._plan.take(number, run)
                elif not self._plan.went_another_way(number, run):
                    self._plan.take(number, run, self._until(number, run, lengths.get(run)))
        for run, length in lengths.items():
            if length > (last := self._plan.last(run)) > 0:
                self.lost.append(f"the events of {run} after {last}, up to {length}")

    def _until(self, number: int, run: str, length: int | None) -> int | None:
        """Up to which event a backup may fill in what is missing. One that restoring made is of a history that was
        left: it counts as far as both have the same events."""
        return self._plan.last_common(number, run) if self._is_left[number] else length

    def _may_have_lost(self, number: int) -> bool:
        """Whether a whole run may be missing. One that only an older backup has was deleted since."""
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
            event = rows.event_of(left.row, lambda digest: self._value(run, seq, digest))
        except (HoldfastError, OverflowError, ValueError, OSError):
            return None
        if not left.is_sound:
            self.lost.append(f"event {seq} of {run} is not as it was written; it is kept as it reads")
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
        """What keeps the number of an event that is lost. The first one of a run is made again from its state."""
        now = self._journal.now()
        state = self._state(run) if seq == 1 else {}
        told = "; what its state knew of it is kept" if state else ""
        self.lost.append(f"event {seq} of {run}{told}")
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
            known = rows.decode_run(codec.expand(stored), run) if stored else None
        except HoldfastError:
            known = None
        if known is None:
            return {}
        return {"goal": known.goal, "layout": known.layout, "worktree": known.worktree, "created": known.created}

    def _add(self, store: Store, batch: list[Event]) -> None:
        with store.writing() as view:
            self._journal.add(view, batch)

    def _add_the_rest(self, view: Writer, runs: set[str]) -> None:
        """Where each worktree points: no event says that."""
        for number, source in reversed(list(enumerate(self._sources))):
            for worktree, key in (source.pointers() if source else {}).items():
                if self._runs[number].get(key) in runs:
                    view.point(worktree, self._runs[number][key])


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
