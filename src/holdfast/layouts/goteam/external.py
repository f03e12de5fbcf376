"""Taking in what others have put into the Go Team's files: sessions that they began, and changes to ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from holdfast.core.model import Body, Draft, Run
from holdfast.core.recovery import options
from holdfast.core.text import one_line, parse_time, path_text
from holdfast.layouts.goteam import NAME, diff, parse, schema
from holdfast.layouts.goteam.files import FACES, MOST, Shelf, is_directory, point_files, team_runs
from holdfast.layouts.goteam.schema import MANIFEST, RECOVERY, REGISTRY, ROLLBACKS, STATE, Around, stamp


def take_all(shelf: Shelf) -> None:
    """Begin a run for every session that is there and nobody knows, and follow what was changed of ours."""
    if not shelf.root.exists():
        return
    for id, entry in list(_sessions(shelf).items())[:MOST]:
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
        runs = team_runs(journal, shelf.workspace.worktree)
    for run in runs:
        if run.id in shelf.written.runs and is_directory(shelf.root / run.id):
            follow_files(shelf, run)


def _sessions(shelf: Shelf) -> dict[str, Body]:
    """The sessions of a registry that somebody has changed; where it is lost or damaged, those with a directory."""
    path = shelf.root / REGISTRY
    if path.exists() and not shelf.is_changed(path):
        return {}
    found = {item["id"]: item for item in parse.entries(shelf.read(path, None))}
    for name in sorted(os.listdir(shelf.root))[: 10 * MOST]:
        if name not in found and is_directory(shelf.root / name) and (shelf.root / name / MANIFEST).is_file():
            found[name] = {"id": name}
    return found


def _adopt(shelf: Shelf, id: str, entry: Body) -> None:
    workspace, directory = shelf.workspace, shelf.root / id
    if not is_directory(directory):
        name = shelf.name(directory)
        workspace.warn(f"{name} is not there, so the Go Team session in the registry is not taken in")
        return
    found = parse.Found(entry)
    for name, field in ((MANIFEST, "manifest"), (STATE, "state"), (RECOVERY, "recovery")):
        setattr(found, field, shelf.read(directory / name, id, tolerant=True) or {})
    read = (shelf.read(path, id, tolerant=True) for path in point_files(directory))
    found.points = [value for value in read if value is not None]
    history = shelf.read(directory / ROLLBACKS, id, tolerant=True) or {}
    first, *rest = parse.drafts(found, workspace.worktree, path_text(workspace.root), workspace.clock.now())
    told = [*(history.get("history") or []), *(found.manifest.get("rollback_history") or [])]
    with workspace.writing(for_session=False) as journal:
        journal.start(id, first)
        journal.append(id, *diff.rollbacks(told, None), *rest)


def _follow_entry(shelf: Shelf, run: Run, entry: Body) -> None:
    """Somebody else changed the registry: what he said of a run of ours is taken in."""
    if run.layout != NAME or run.id not in shelf.written.runs or run.worktree != shelf.workspace.worktree:
        return
    then = _then(shelf, run, shelf.written.runs[run.id])
    before = schema.entry(then, Around(shelf.workspace.clock.now()))
    if not _is_older(entry.get("updated_at"), then):
        drafts = diff.drafts(diff.ENTRY, before, entry, run)
        _append(shelf, run, [*drafts, *_saved(shelf, run, run.standing.saved, entry.get("updated_at"))])


def _saved(shelf: Shelf, run: Run, saved: datetime | None, heard: object) -> Iterator[Draft]:
    """The program that works on a session has saved again, which is a sign of life although nothing else changed."""
    time = parse_time(heard)
    if saved is not None and time and run.updated and run.updated < time <= shelf.workspace.clock.now():
        yield Draft("save.told", {"saved": saved}, time=time)


def follow_files(shelf: Shelf, run: Run) -> None:
    """Take in what somebody else changed in the files of one run."""
    directory = shelf.root / run.id
    for name in FACES:
        if shelf.is_changed(directory / name):
            value = shelf.read(directory / name, run.id)
            if value is not None:
                drafts = follow_face(shelf, run, name, value)
                told = value.get("saved_at") if name == STATE and run.standing.saved else None
                _append(shelf, run, [*drafts, *_saved(shelf, run, parse_time(told), told)])
    for path in point_files(directory):
        if shelf.is_changed(path):
            value = shelf.read(path, run.id)
            _append(shelf, run, _point(shelf, run, path.stem, value) if value is not None else [])


def follow_face(shelf: Shelf, run: Run, name: str, value: Body) -> list[Draft]:
    """The events by which a run follows one of its files."""
    value = shelf.workspace.hide(value)  # safeguard: hide-team-file-ingested
    marked = value.get(diff.EVENT) if name == STATE else None
    whole = isinstance(marked, int) and not isinstance(marked, bool) and 0 < marked <= run.seq
    then = _then(shelf, run, marked if whole and isinstance(marked, int) else shelf.written.runs.get(run.id, run.seq))
    before = _faces(then, Around(shelf.workspace.clock.now()))[name]
    if not whole and _is_older(value.get("saved_at") or value.get("updated_at"), then):
        before = diff.known_part(name, before, value)
    return diff.drafts(name, before, value, run, whole=whole)


def _faces(run: Run, around: Around) -> dict[str, Body]:
    """The files as they were written after an event, but for what changes without one."""
    return {
        STATE: schema.live(run, around),
        MANIFEST: schema.manifest(run),
        ROLLBACKS: schema.rollback_history(run),
        RECOVERY: schema.recovery(run, options(run), around),
    }


def _point(shelf: Shelf, run: Run, id: str, value: Body) -> list[Draft]:
    """A checkpoint's file that is new, or was changed: one of ours never changes."""
    kept = next((found for found in run.standing.kept if found.id == id), None)
    now = shelf.workspace.clock.now()
    if kept is None:
        time = parse_time(value.get("created_at"))
        manifest = shelf.read(shelf.root / run.id / MANIFEST, run.id) or {}
        found = parse.Found(manifest=manifest)
        return list(parse.kept_point(found, {**value, "id": id}, time if time and time <= now else now))
    told = []
    if kept.checkpoint:
        told = diff.drafts(f"{id}.json", schema.point(kept, _then(shelf, run, kept.seq)), value, run)
    if value.get("valid") is False and kept.is_valid:
        told.append(Draft("step.judged", {"id": id, "valid": False, "by": f"{id}.json"}))
    return told


def _append(shelf: Shelf, run: Run, drafts: list[Draft]) -> None:
    if drafts:
        with shelf.workspace.writing(for_session=False) as journal:
            journal.append(run.id, *drafts)


def _then(shelf: Shelf, run: Run, seq: int) -> Run:
    with shelf.workspace.reading() as journal:
        return journal.run_at(run.id, min(seq, run.seq))


def _is_older(told: object, then: Run) -> bool:
    """Whether a file is a copy from before what we wrote last."""
    time, ours = parse_time(told), parse_time(stamp(then.updated))
    return bool(time and ours and time < ours)
