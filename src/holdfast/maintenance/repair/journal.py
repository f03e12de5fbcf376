"""Building the journal anew from what is left of it: events from the damaged database, and from backups.

Everything else in the database is folded from the events, so only they are looked for. What was built is proven before
it takes the old one's place, and the old files stay aside.
"""

from __future__ import annotations

import contextlib
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.model import Event
from holdfast.core.text import path_text
from holdfast.journal import codec, rows
from holdfast.journal.journal import Journal
from holdfast.journal.sqlite.connection import translated
from holdfast.journal.sqlite.salvage import Salvage, salvage
from holdfast.journal.sqlite.salvage_index import Place, Plan
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.journal.sqlite.swap import replace_database
from holdfast.journal.store import Writer
from holdfast.maintenance.backup import file
from holdfast.maintenance.verify.bytes import backups_of, rows_of
from holdfast.maintenance.verify.runs import check_runs
from holdfast.project.workspace import Workspace
from holdfast.system import files

LOST = "event.lost"
BATCH = 1_000  # events in one commit
WEIGHT = 4_000_000  # bytes of large values in one commit
GONE = b"[lost]"
REPLACED = "replaced-"  # how the name of a backup begins that restoring another one made


class Rebuilt(Struct):
    """What was put together, what is lost, and where the old database is."""

    events: int = 0
    lost: list[str] = []
    sources: list[str] = []  # backups that events were taken from
    aside: str | None = None


def rebuild(workspace: Workspace) -> Rebuilt:
    """Build the journal anew, and let it take the place of the damaged one. Whoever calls this is the only writer."""
    directory = workspace.place / "rebuilding"
    shutil.rmtree(directory, ignore_errors=True)
    files.make_private_directory(directory)
    result = Rebuilt(lost=[], sources=[])
    path = workspace.place / "journal.db"
    with contextlib.ExitStack() as stack:
        damaged = salvage(path, _room(directory, "damaged"))
        names, sources = [""], [damaged]
        for number, backup in enumerate(backups_of(workspace.place)):
            made, found = _open_backup(backup, _room(directory, f"backup-{number}"))
            if found is not None:
                names.append(f"backups/{backup.name}, made {made}")
                sources.append(found)
        for source in filter(None, sources):
            stack.callback(source.close)
        if damaged is not None and damaged.lost_pages:
            result.lost.append(f"what {damaged.lost_pages:,} pages of the log held, which were written last")
        plan = Plan()
        stack.callback(plan.close)
        is_left = [name.startswith(f"backups/{REPLACED}") for name in names]
        builder = Builder(workspace, sources, is_left, plan, result)
        new = SqliteStore(_room(directory, "new") / "journal.db")
        stack.callback(new.close)
        builder.build(new)
        result.sources = [names[number] for number in sorted(builder.used - {0})]
        _prove(workspace, new)
        with new.locked(), translated(new.path):
            new.write_back()
    if damaged is None:
        since = f"what happened after {result.sources[0]}" if result.sources else "the journal: no backup is left"
        result.lost.append(since)
    aside = replace_database(path, directory / "new" / "journal.db", workspace.place / "aside")
    result.aside = path_text(aside.relative_to(workspace.place)) if aside else None
    shutil.rmtree(directory, ignore_errors=True)
    return result


def _room(directory: Path, name: str) -> Path:
    files.make_private_directory(directory / name)
    return directory / name


def _open_backup(path: Path, directory: Path) -> tuple[str, Salvage | None]:
    """When a backup was made, and the database in it; None where it is no use."""
    try:
        contents = file.read_archive(path, lambda name: directory / name if name == file.DATABASE else None)
    except HoldfastError:
        return "", None
    return contents.made, salvage(directory / file.DATABASE, directory)


def _prove(workspace: Workspace, store: SqliteStore) -> None:
    with store.reading() as view:
        journal = Journal(view, workspace.clock, workspace.clean)
        problems = [*view.problems(), *(f"{found.where}: {found.what}" for found in rows_of(journal))]
        problems += [f"{found.where}: {found.what}" for found in check_runs(journal, lambda *_: None).problems]
    if problems:
        raise Damaged(
            "What is left of the journal does not fit together",
            [("problem", problems[0]), ("problems", len(problems))],
            ["`holdfast restore-backup FILE` puts a backup back"],
        )


class Builder:
    """Takes each event from the best place it is to be had, and adds it to a new journal."""

    def __init__(
        self, workspace: Workspace, sources: list[Salvage | None], is_left: list[bool], plan: Plan, result: Rebuilt
    ) -> None:
        self._workspace = workspace
        self._is_left = is_left
        self._sources = sources
        self._plan = plan
        self._result = result
        self._runs = [source.runs() if source else {} for source in sources]
        self._weight = 0  # bytes of large values in the events that wait for their commit
        self.used: set[int] = set()

    def build(self, store: SqliteStore) -> None:
        self._choose()
        total, batch = self._plan.total(), list[Event]()
        for run, seq, place in self._plan.in_order():
            batch.append(self._event(run, seq, place))
            self._result.events += 1
            if len(batch) == BATCH or self._weight > WEIGHT:
                self._add(store, batch)
                batch, self._weight = [], 0
                self._workspace.progress("rebuilding the journal", self._result.events, total)
        self._add(store, batch)
        with store.writing() as view:
            self._add_the_rest(view, set(self._plan.runs()))

    def _choose(self) -> None:
        """Choose for each run and number where its event is taken from."""
        for number, source in enumerate(self._sources):
            for left in source.events(self._runs[number]) if source else ():
                self._plan.note(number, left.position, left.row, left.is_sound)
        known = set(self._runs[0].values())
        lengths = self._sources[0].lengths() if self._sources[0] else {}
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
                self._result.lost.append(f"the events of {run} after {last}, up to {length}")

    def _until(self, number: int, run: str, length: int | None) -> int | None:
        """Up to which event a backup may fill in what is missing. One that restoring made is of a history that was
        left: it counts as far as both have the same events."""
        return self._plan.last_common(number, run) if self._is_left[number] else length

    def _may_have_lost(self, number: int) -> bool:
        """Whether a whole run may be missing. One that only an older backup has was deleted since."""
        newest = next((other for other, source in enumerate(self._sources) if other and source), 0)
        damaged = self._sources[0]
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
            self._result.lost.append(f"event {seq} of {run} is not as it was written; it is kept as it reads")
        self.used.add(place.source)
        return event

    def _value(self, run: str, seq: int, digest: bytes) -> bytes:
        for number, source in enumerate(self._sources):
            data = source.blob(digest) if source else None
            if data is not None and codec.digest_of(data) == digest:
                self.used.add(number)
                self._weight += len(data)
                return data
        self._result.lost.append(f"a large value of event {seq} of {run}")
        return GONE

    def _stand_in(self, run: str, seq: int) -> Event:
        """What keeps the number of an event that is lost. The first one of a run is made again from its state."""
        now = self._workspace.clock.now()
        state = self._state(run) if seq == 1 else {}
        told = "; what its state knew of it is kept" if state else ""
        self._result.lost.append(f"event {seq} of {run}{told}")
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
        damaged = self._sources[0]
        stored = damaged.state(run) if damaged else None
        try:
            known = rows.decode_run(codec.expand(stored), run) if stored else None
        except HoldfastError:
            known = None
        if known is None:
            return {}
        return {"goal": known.goal, "layout": known.layout, "worktree": known.worktree, "created": known.created}

    def _add(self, store: SqliteStore, batch: list[Event]) -> None:
        with store.writing() as view:
            journal = Journal(view, self._workspace.clock, self._workspace.clean)
            for event in batch:
                journal.replay(event.run, [event])
            journal.flush()

    def _add_the_rest(self, view: Writer, runs: set[str]) -> None:
        """Where each worktree points: no event says that."""
        for number, source in reversed(list(enumerate(self._sources))):
            for worktree, key in (source.pointers() if source else {}).items():
                if self._runs[number].get(key) in runs:
                    view.point(worktree, self._runs[number][key])
