"""Ingest FABER's state files: the content of a changed file becomes one event.

A file is read only if it has changed since it was last read. An unreadable one is reported, and left as it is.
"""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

from msgspec import Struct, structs

from holdfast.core.errors import HoldfastError
from holdfast.core.fold.external import TOLD
from holdfast.core.model import Body, Draft, Run
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.layouts import memory
from holdfast.layouts.faber import NAME, schema
from holdfast.layouts.faber.session_records import record_ids
from holdfast.layouts.json_file import JsonFile, Unreadable, Version, read_json
from holdfast.layouts.memory import digest, not_later, relative
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.shared_files import Generations

SEEN = "owned.json"
Signature = tuple[int, int, int]


class Seen(Struct):
    active: str | None = None
    files: dict[str, Signature] = {}


def journal_id(name: str) -> str:
    return memory.journal_id(name, "faber")


def ingest(workspace: Workspace) -> None:
    seen = _load(workspace)
    states = [(run, path, files.signature(path)) for run, path in schema.list_states(workspace.root)]
    now = {relative(workspace, path): look for _, path, look in states if look is not None}
    changed = [(run, path) for run, path, look in states if look != seen.files.get(relative(workspace, path))]
    active = schema.find_active(workspace.root).run
    if not changed and active == seen.active and seen.files.keys() <= now.keys():
        return
    faces = {run: file for run, path in changed if (file := _read(workspace, run, path, active)) is not None}
    broken = {relative(workspace, path) for run, path in changed if run not in faces}
    with workspace.writing(for_session=False) as journal:
        taken = {run: record_state(workspace, journal, run, file) for run, file in faces.items()}
        if active and active != seen.active and not _point(workspace, journal, active):
            active = None  # its state does not exist yet; a later ingestion finds it
    for run, file in faces.items():
        known = taken[run]
        if known is not None and known.status.is_open and known.owned is not None and not known.owned.lost:
            keep_copy(workspace, file)
    _save(workspace, Seen(active, {name: look for name, look in now.items() if name not in broken}))


def record_state(workspace: Workspace, journal: Journal, run_id: str, file: Version) -> Run | None:
    """Record the content of a state file; None if the run is another worktree's, or no FABER run."""
    id = journal_id(run_id)
    run = journal.find_run(id)
    body = body_of(workspace, run_id, file)
    if run is None:
        time = not_later(file.value.get("updated_at"), now := workspace.clock.now()) or now
        start = {"goal": body["goal"], "layout": NAME, "worktree": workspace.worktree, "unasked": True}
        run = journal.start(id, Draft("run.started", {**start, "directory": path_text(workspace.root)}, time=time))
        journal.append(id, Draft(TOLD, body, time=time))
    elif run.layout != NAME or run.worktree != workspace.worktree:
        return None
    elif run.owned is None or run.owned.digest != body["digest"]:
        journal.append(id, Draft(TOLD, body))
    return journal.find_run(id)


def body_of(workspace: Workspace, run_id: str, file: Version) -> Body:
    """The content of a state file as the body of an event."""
    # safeguard: hide-faber-state
    told = schema.tell(workspace.hide(schema.telling(file.value)), run_id)  # before it is truncated
    return {
        "path": relative(workspace, file.path),
        "digest": digest(file.data),
        **structs.asdict(told),
        "phases": [list(pair) for pair in told.phases],
        "sessions": record_ids(file.value),
    }


def remember(workspace: Workspace, path: Path) -> None:
    """Record the signature of a file that we wrote ourselves."""
    seen = _load(workspace)
    if look := files.signature(path):
        seen.files[relative(workspace, path)] = look
        _save(workspace, seen)


def keep_copy(workspace: Workspace, file: Version) -> None:
    """Keep a copy of this version in the store, where only the user can read it."""
    copies(workspace).keep(file.path, file.data)


def copies(workspace: Workspace) -> Generations:
    return Generations(workspace.here / "faces")


def claim(workspace: Workspace, journal: Journal, run_id: str) -> None:
    """Move a run of another worktree to this one, where its state file is written."""
    run = journal.find_run(journal_id(run_id))
    if run is not None and run.layout == NAME and run.worktree != workspace.worktree:
        body = {"worktree": workspace.worktree, "directory": path_text(workspace.root)}
        journal.append(run.id, Draft("run.moved", body))


def _point(workspace: Workspace, journal: Journal, active: str) -> bool:
    """Make the run of a changed active-run file the current one; False if the journal does not have it."""
    claim(workspace, journal, active)
    run = journal.find_run(journal_id(active))
    if run is None or run.layout != NAME:
        return False
    if run.status.is_open:
        journal.point(workspace.worktree, run.id)
    return True


def _read(workspace: Workspace, run: str, path: Path, active: str | None) -> JsonFile | None:
    try:
        return read_json(path, root=workspace.root)
    except Unreadable as error:
        with workspace.reading() as journal:
            known = journal.find_run(journal_id(run))
        if run == active or known is not None:
            name = relative(workspace, path)
            way_out = error.remedy(f"`holdfast repair {shlex.quote(run)}` puts the best copy back")
            workspace.warn(f"{name} cannot be read: {error.why}; {way_out}")
        return None


def _load(workspace: Workspace) -> Seen:
    return memory.recall(memory.place_of(workspace) / SEEN, Seen)


def _save(workspace: Workspace, seen: Seen) -> None:
    with contextlib.suppress(HoldfastError):  # the files are then read once more
        memory.remember(memory.own_directory(workspace) / SEEN, seen)
