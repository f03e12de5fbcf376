"""Runs that another system keeps in files of the worktree: the journal knows each of them, and what its file says.

A file is read only when it has changed since it was last looked at. What it says becomes one event; a file that cannot
be read is told of, and left as it is.
"""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.fold.external import TOLD
from holdfast.core.ids import hexdigest
from holdfast.core.model import Body, Draft, Run
from holdfast.core.text import parse_time, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.faber import NAME, schema
from holdfast.layouts.faber.session_records import record_ids
from holdfast.layouts.foreign_ids import is_usable
from holdfast.layouts.json_file import Face, Unreadable, Version, read_face
from holdfast.layouts.memory import own_directory, place_of, recall
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.shared_files import Generations

SEEN = "owned.json"
Signature = tuple[int, int, int]


class Seen(Struct):
    """What was looked at last: the files as they were, and which run was the active one."""

    active: str | None = None
    files: dict[str, Signature] = {}


def journal_id(name: str) -> str:
    """The name of a FABER run in the journal: its own, unless that could be taken for something else."""
    return name if is_usable(name) else f"faber-{hexdigest('sha256', name.encode())[:20]}"


def digest(data: bytes) -> str:
    return hexdigest("blake2b", data, digest_size=16)


def ingest(workspace: Workspace) -> None:
    """Take in what the files say, where any have changed."""
    seen = _load(workspace)
    states = [(run, path, files.signature(path)) for run, path in schema.list_states(workspace.root)]
    now = {path_text(path.relative_to(workspace.root)): look for _, path, look in states if look is not None}
    changed = [(run, path) for run, path, look in states if look != seen.files.get(_name(workspace, path))]
    active = schema.find_active(workspace.root).run
    if not changed and active == seen.active and seen.files.keys() <= now.keys():
        return
    faces = {run: face for run, path in changed if (face := _read(workspace, run, path, active)) is not None}
    broken = {_name(workspace, path) for run, path in changed if run not in faces}
    with workspace.writing(for_session=False) as journal:
        taken = {run: take_face(workspace, journal, run, face) for run, face in faces.items()}
        if active and active != seen.active and not _point(workspace, journal, active):
            active = None  # its state is not there yet; once it is, it counts
    for run, face in faces.items():
        known = taken[run]
        if known is not None and known.status.is_open and known.owned is not None and not known.owned.lost:
            keep_copy(workspace, face)
    _save(workspace, Seen(active, {name: look for name, look in now.items() if name not in broken}))


def take_face(workspace: Workspace, journal: Journal, run_id: str, face: Version) -> Run | None:
    """Let the journal know what a state file says; None where the run is another worktree's, or no FABER run."""
    id = journal_id(run_id)
    run = journal.find_run(id)
    body = body_of(workspace, run_id, face)
    if run is None:
        time = _told_at(workspace, face)
        start = {"goal": body["goal"], "layout": NAME, "worktree": workspace.worktree, "unasked": True}
        run = journal.start(id, Draft("run.started", {**start, "directory": path_text(workspace.root)}, time=time))
        journal.append(id, Draft(TOLD, body, time=time))
    elif run.layout != NAME or run.worktree != workspace.worktree:
        return None
    elif run.owned is None or run.owned.digest != body["digest"]:
        journal.append(id, Draft(TOLD, body))
    return journal.find_run(id)


def body_of(workspace: Workspace, run_id: str, face: Version) -> Body:
    """What a state file says, as an event."""
    # safeguard: hide-faber-state
    told = schema.tell(workspace.hide(schema.telling(face.value)), run_id)  # before it is cut to its length
    return {
        "path": _name(workspace, face.path),
        "digest": digest(face.data),
        "status": told.status,
        "word": told.word,
        "phase": told.phase,
        "step": told.step,
        "phases": [list(pair) for pair in told.phases],
        "goal": told.goal,
        "workflow": told.workflow,
        "sessions": record_ids(face.value),
    }


def remember(workspace: Workspace, path: Path) -> None:
    """Count a file as looked at, after we have written it ourselves."""
    seen = _load(workspace)
    if look := files.signature(path):
        seen.files[_name(workspace, path)] = look
        _save(workspace, seen)


def keep_copy(workspace: Workspace, face: Version) -> None:
    """Keep this version of a file in the store, where only the user can read it; the last few stay."""
    copies(workspace).keep(face.path, face.data)


def copies(workspace: Workspace) -> Generations:
    return Generations(workspace.here / "faces")


def claim(workspace: Workspace, journal: Journal, run_id: str) -> None:
    """Let a run that another worktree had be this one's: its state file is worked on here."""
    run = journal.find_run(journal_id(run_id))
    if run is not None and run.layout == NAME and run.worktree != workspace.worktree:
        body = {"worktree": workspace.worktree, "directory": path_text(workspace.root)}
        journal.append(run.id, Draft("run.moved", body))


def _point(workspace: Workspace, journal: Journal, active: str) -> bool:
    """The active-run file was changed: its run is what commands in this worktree mean. False where there is none."""
    claim(workspace, journal, active)
    run = journal.find_run(journal_id(active))
    if run is None or run.layout != NAME:
        return False
    if run.status.is_open:
        journal.point(workspace.worktree, run.id)
    return True


def _read(workspace: Workspace, run: str, path: Path, active: str | None) -> Face | None:
    try:
        return read_face(path, root=workspace.root)
    except Unreadable as error:
        with workspace.reading() as journal:
            known = journal.find_run(journal_id(run))
        if run == active or known is not None:
            name = _name(workspace, path)
            way_out = error.remedy(f"`holdfast repair {shlex.quote(run)}` puts the best copy back")
            workspace.warn(f"{name} cannot be read: {error.why}; {way_out}")
        return None


def _told_at(workspace: Workspace, face: Version) -> datetime:
    """When the file says that it was last changed; the future is not believed."""
    now = workspace.clock.now()
    found = parse_time(face.value.get("updated_at"))
    return found if found and found < now else now


def _name(workspace: Workspace, path: Path) -> str:
    return path_text(path.relative_to(workspace.root))


def _load(workspace: Workspace) -> Seen:
    return recall(place_of(workspace) / SEEN, Seen)


def _save(workspace: Workspace, seen: Seen) -> None:
    """Keep what was looked at. Where that fails, the files are read once more."""
    try:
        files.put(own_directory(workspace) / SEEN, msgspec.json.encode(seen), synced=False)
    except HoldfastError:
        return
