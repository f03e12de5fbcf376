"""The Go Team's files as projections of the journal: ingest external edits, then write.

A lost registry is rebuilt from the journal and the directories of the sessions. A `.gitignore` keeps the files out of
commits.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.model import Body, Draft, Kept, Run, Status, int_of
from holdfast.core.recovery_options import cause_of, options
from holdfast.core.text import one_line, parse_time, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam import NAME, diff, files as own, parse, schema
from holdfast.layouts.goteam.runs import list_ways
from holdfast.layouts.goteam.schema import MANIFEST, RECOVERY, REGISTRY, ROLLBACKS, STATE, Around, stamp
from holdfast.layouts.memory import SHARED, not_later, own_directory, relative
from holdfast.project.drift import find_drift
from holdfast.project.sessions import is_silent, last_heard, live_sessions
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import Head, Repository

ATTEMPTS = 5
DIRECTORY = 0o755
PATIENCE = 3.0  # seconds for finding uncommitted changes
LEFTOVER = re.compile(r"\.[^/]+\.json\.[0-9a-f]{12}")
ALWAYS = (STATE, MANIFEST, ROLLBACKS)


def reconcile(workspace: Workspace, *, saved: str | None = None) -> None:
    synchronize(workspace)


def autosave(workspace: Workspace) -> None:
    synchronize(workspace, trigger="auto")


def synchronize(workspace: Workspace, *, trigger: str | None = None) -> None:
    """Ingest external edits, then write the files. With a trigger, those of the current run are written in any case."""
    root = own.root_of(workspace)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        workspace.warn(f"{relative(workspace, root)} is not a directory, so the Go Team's files are not written")
        return
    with open_files(workspace) as shelf:
        show(shelf, trigger)


@contextlib.contextmanager
def open_files(workspace: Workspace) -> Iterator[own.SessionFiles]:
    """The files, locked; the record of the last write is saved at the end."""
    place = own_directory(workspace) / "team.lock"
    with files.lock(place, workspace.settings.number("store.deadline")):  # safeguard: lock-team-files
        shelf = own.SessionFiles(workspace)
        try:
            yield shelf
        finally:
            shelf.save()


def show(shelf: own.SessionFiles, trigger: str | None = None) -> None:
    """Ingest and write, until no other program has written in between."""
    name = shelf.name(shelf.root)
    for _ in range(ATTEMPTS):
        ingest_all(shelf)
        if shelf.workspace.is_preview:
            return
        try:
            _write_all(shelf, trigger)
            return
        except own.Edited:
            continue
        except (Refused, OSError) as error:  # the command itself succeeded; the next one writes them
            why = (error.strerror or "the system said no") if isinstance(error, OSError) else error.message
            shelf.workspace.warn(f"the Go Team's files in {name} could not be written: {why}")
            return
    shelf.workspace.warn(f"the files in {name} are written by somebody else all the time; ours will be written later")


def _write_all(shelf: own.SessionFiles, trigger: str | None) -> None:
    workspace, root, written = shelf.workspace, shelf.root, shelf.written
    with workspace.reading() as journal:
        runs, cleaned = own.team_runs(journal, workspace.worktree), own.cleaned_runs(journal, workspace.worktree)
        if not runs and not cleaned:  # a directory of this name may be another program's
            return
        pointed = journal.view.pointer(workspace.worktree)
        active = [run for run in runs if run.status is Status.ACTIVE]
        heard = {run.id: _last_heard(workspace, journal, run) for run in active}
    files.make_directories(root, DIRECTORY, workspace.root)
    if not (root / ".gitignore").exists():  # keeps the files out of commits and of `git clean`
        files.write(root / ".gitignore", b"*\n", SHARED, workspace.root)
    named = [run.id for run in runs]
    last = pointed if pointed in named else named[-1] if named else None
    entries, head = [], Repository(workspace.root).head()
    for run in runs:
        around = _around(workspace, head, heard.get(run.id), trigger if run.id == pointed else None)
        if _is_stale(shelf, run) or around.trigger:
            _write_run(shelf, run, around)
            written.runs[run.id] = run.seq
            shelf.read_anew.discard(run.id)
        entries.append(schema.entry(run, around))
    shelf.put_registry(entries, last, cleaned)


def _is_stale(shelf: own.SessionFiles, run: Run) -> bool:
    """Return whether a run's files must be written: the run has new events, or a file was changed or lost."""
    if shelf.written.runs.get(run.id) != run.seq or run.id in shelf.read_anew:
        return True
    return any(not os.path.lexists(shelf.root / run.id / name) for name in ALWAYS)


def _last_heard(workspace: Workspace, journal: Journal, run: Run) -> datetime | None:
    alive = [session for session in live_sessions(journal, run.id) if not is_silent(workspace, session)]
    return max((last_heard(workspace, session) for session in alive), default=None)


def _around(workspace: Workspace, head: Head, heard: datetime | None, trigger: str | None) -> Around:
    return Around(
        now=workspace.clock.now(),
        branch=path_text(head.branch) if head.branch else None,
        commit=head.commit,
        heard=heard,
        interval=workspace.settings.number("save.interval"),
        auto_resume=workspace.settings.text("recovery.auto_resume") == "on",
        trigger=trigger,
    )


def _write_run(shelf: own.SessionFiles, run: Run, around: Around) -> None:
    """Write the files of one run, checkpoints first, so that the live state is never older than they are."""
    directory = shelf.root / run.id
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        shelf.workspace.warn(f"{shelf.name(directory)} is not a directory, so the run's files are not written")
        return
    files.make_directories(directory, DIRECTORY, shelf.workspace.root)
    for name in os.listdir(directory):
        if LEFTOVER.fullmatch(name):  # of a killed process of ours; we hold the lock
            files.remove(directory / name, shelf.workspace.root)
    for kept in run.standing.kept:
        path = directory / f"{kept.id}.json"
        if kept.checkpoint and ids.is_safe(kept.id) and not os.path.lexists(path):
            put_point(shelf, run, kept, path)
    shelf.put(directory / MANIFEST, schema.manifest(run))
    shelf.put(directory / ROLLBACKS, schema.rollback_history(run))
    if (cause_of(run) is not None or run.status is Status.PAUSED) and run.status.is_open:
        bearings = find_drift(shelf.workspace, run, PATIENCE)
        around = msgspec.structs.replace(around, uncommitted=bool(bearings.uncommitted))
        shelf.put(directory / RECOVERY, schema.recovery(run, list_ways(shelf.workspace, run), around))
    elif run.standing.saved is None:  # else it is the file of another program about its own session
        shelf.remove(directory / RECOVERY, schema.recovery(run, options(run), around))
    shelf.put(directory / STATE, schema.live(run, around))


def put_point(shelf: own.SessionFiles, run: Run, kept: Kept, path: Path) -> None:
    with shelf.workspace.reading() as journal:
        document = schema.point(kept, journal.run_at(run.id, kept.seq))
    shelf.put_bytes(path, None, own.as_bytes(document))


def ingest_all(shelf: own.SessionFiles) -> None:
    """Import unknown sessions as runs, and ingest external edits of known ones."""
    if not shelf.root.exists():
        return
    for id, entry in list(_sessions(shelf).items())[: own.MOST]:
        with shelf.workspace.reading() as journal:
            known = journal.find_run(id)
        if known is not None:
            _follow_entry(shelf, known, entry)
        elif parse.is_name(id):
            _adopt(shelf, id, entry)
        else:
            name = one_line(id, 60)
            shelf.workspace.warn(f'the Go Team session "{name}" has a name that no run can have; it is left alone')
    with shelf.workspace.reading() as journal:
        runs = own.team_runs(journal, shelf.workspace.worktree)
    for run in runs:
        if run.id in shelf.written.runs and own.is_directory(shelf.root / run.id):
            follow_files(shelf, run)


def _sessions(shelf: own.SessionFiles) -> dict[str, Body]:
    """The sessions of a changed registry; if it is lost or damaged, those with a directory."""
    path = shelf.root / REGISTRY
    if path.exists() and not shelf.is_changed(path):
        return {}
    found = {item["id"]: item for item in parse.entries(shelf.read(path, None))}
    for name in sorted(os.listdir(shelf.root))[: 10 * own.MOST]:
        if name not in found and own.is_directory(shelf.root / name) and (shelf.root / name / MANIFEST).is_file():
            found[name] = {"id": name}
    return found


def _adopt(shelf: own.SessionFiles, id: str, entry: Body) -> None:
    workspace, directory = shelf.workspace, shelf.root / id
    if not own.is_directory(directory):
        name = shelf.name(directory)
        workspace.warn(f"{name} is not there, so the Go Team session in the registry is not taken in")
        return
    names = (MANIFEST, STATE, RECOVERY, ROLLBACKS)
    manifest, state, recovery, history = (shelf.read(directory / name, id, tolerant=True) or {} for name in names)
    read = (shelf.read(path, id, tolerant=True) for path in own.point_files(directory))
    found = parse.Found(entry, manifest, state, recovery, [value for value in read if value is not None])
    first, *rest = parse.drafts(found, workspace.worktree, path_text(workspace.root), workspace.clock.now())
    told = [*(history.get("history") or []), *(found.manifest.get("rollback_history") or [])]
    with workspace.writing(for_session=False) as journal:
        journal.start(id, first)
        journal.append(id, *diff.rollbacks(told, None), *rest)


def _follow_entry(shelf: own.SessionFiles, run: Run, entry: Body) -> None:
    if run.layout != NAME or run.id not in shelf.written.runs or run.worktree != shelf.workspace.worktree:
        return
    then = _then(shelf, run, shelf.written.runs[run.id])
    before = schema.entry(then, Around(shelf.workspace.clock.now()))
    if not _is_older(entry.get("updated_at"), then):
        drafts = diff.drafts(REGISTRY, before, entry, run)
        append(shelf, run, [*drafts, *_saved(shelf, run, run.standing.saved, entry.get("updated_at"))])


def _saved(shelf: own.SessionFiles, run: Run, saved: datetime | None, heard: object) -> Iterator[Draft]:
    """Record a save by another program: it is a sign of life even if nothing else changed."""
    time = parse_time(heard)
    if saved is not None and time and run.updated and run.updated < time <= shelf.workspace.clock.now():
        yield Draft("save.told", {"saved": saved}, time=time)


def follow_files(shelf: own.SessionFiles, run: Run) -> None:
    directory = shelf.root / run.id
    for name in own.FACES:
        if shelf.is_changed(directory / name):
            value = shelf.read(directory / name, run.id)
            if value is not None:
                drafts = follow_file(shelf, run, name, value)
                told = value.get("saved_at") if name == STATE and run.standing.saved else None
                append(shelf, run, [*drafts, *_saved(shelf, run, parse_time(told), told)])
    for path in own.point_files(directory):
        if shelf.is_changed(path):
            value = shelf.read(path, run.id)
            append(shelf, run, _point(shelf, run, path.stem, value) if value is not None else [])


def follow_file(shelf: own.SessionFiles, run: Run, name: str, value: Body) -> list[Draft]:
    value = shelf.workspace.hide(value)  # safeguard: hide-team-file-ingested
    marked = value.get(diff.EVENT) if name == STATE else None
    event = int_of(marked, 1, run.seq)
    then = _then(shelf, run, event or shelf.written.runs.get(run.id, run.seq))
    before = _faces(then, Around(shelf.workspace.clock.now()))[name]
    if event is None and _is_older(value.get("saved_at") or value.get("updated_at"), then):
        before = diff.known_part(name, before, value)
    return diff.drafts(name, before, value, run, whole=event is not None)


def _faces(run: Run, around: Around) -> dict[str, Body]:
    """The files as they were written after an event, except for values that change without one."""
    return {
        STATE: schema.live(run, around),
        MANIFEST: schema.manifest(run),
        ROLLBACKS: schema.rollback_history(run),
        RECOVERY: schema.recovery(run, options(run), around),
    }


def _point(shelf: own.SessionFiles, run: Run, id: str, value: Body) -> list[Draft]:
    """Ingest a checkpoint's file that is new or was changed. One of our own never changes."""
    kept = next((found for found in run.standing.kept if found.id == id), None)
    now = shelf.workspace.clock.now()
    if kept is None:
        found = parse.Found(manifest=shelf.read(shelf.root / run.id / MANIFEST, run.id) or {})
        return list(parse.kept_point(found, {**value, "id": id}, not_later(value.get("created_at"), now) or now))
    told = []
    if kept.checkpoint:
        told = diff.drafts(f"{id}.json", schema.point(kept, _then(shelf, run, kept.seq)), value, run)
    if value.get("valid") is False and kept.is_valid:
        told.append(Draft("step.judged", {"id": id, "valid": False, "by": f"{id}.json"}))
    return told


def append(shelf: own.SessionFiles, run: Run, drafts: list[Draft]) -> None:
    if drafts:
        with shelf.workspace.writing(for_session=False) as journal:
            journal.append(run.id, *drafts)


def _then(shelf: own.SessionFiles, run: Run, seq: int) -> Run:
    with shelf.workspace.reading() as journal:
        return journal.run_at(run.id, min(seq, run.seq))


def _is_older(told: object, then: Run) -> bool:
    time, ours = parse_time(told), parse_time(stamp(then.updated))
    return bool(time and ours and time < ours)
