"""The orchestrator's session file as a face of the journal: what somebody else wrote is taken in, then ours is written.

One run of a worktree stands in the file, the one that was started there last. It is written after every change, whole
or not at all. Once the run has ended, or another one is started, it goes to the history: the copy there is verified
before the file is removed. Whoever is killed on the way leaves it to the next command, which finds the file behind.
"""

from __future__ import annotations

import json
from datetime import datetime

from msgspec import structs

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.formats.timestamps import moment
from holdfast.core.model import Body, Draft, Run
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.json_file import Face, Unreadable, parse_face, read_face, with_members
from holdfast.layouts.memory import own_directory
from holdfast.layouts.orchestrator import NAME
from holdfast.layouts.orchestrator.diff import drafts, known_part, last_time
from holdfast.layouts.orchestrator.files import (
    SHARED,
    Written,
    as_bytes,
    check_place,
    digest,
    is_of,
    name_of,
    place_in_history,
    read_session,
    recall,
    remember,
    remove,
    told,
)
from holdfast.layouts.orchestrator.rules import HISTORY, SESSION
from holdfast.layouts.orchestrator.schema import VERSION, Incompatible, State, is_legacy, read_state, render
from holdfast.layouts.orchestrator.start import find_current, list_runs, make_id
from holdfast.project.workspace import Workspace
from holdfast.redaction.unmask import unmask
from holdfast.system import files, shared_files
from holdfast.system.git.repository import Repository

ATTEMPTS = 5
MOST_ARCHIVED = 10_000


def reconcile(workspace: Workspace, *, saved: str | None = None) -> None:
    """Make the file and the journal say the same."""
    project(workspace, saved=saved)


def project(workspace: Workspace, *, fresh: bool = False, saved: str | None = None) -> None:
    """Make the file and the journal say the same. A fresh start sends the run in the file to the history first.

    The file of the run that is `saved` is written in any case, so that `updated` is the time of the save. What a file
    refuses makes no command fail, for what was asked for is in the journal: it is told beside the result.
    """
    try:
        with files.os_errors(workspace.root / SESSION):
            _project(workspace, fresh, saved)
    except HoldfastError as error:
        workspace.warn(f"{SESSION} is not written: {one_line(error.message, 200)}")


def _project(workspace: Workspace, fresh: bool, saved: str | None) -> None:
    check_place(workspace)  # safeguard: linked-session-file
    # safeguard: lock-orchestrator-file
    with files.lock(own_directory(workspace) / "session.lock", workspace.settings.number("store.deadline")):
        if fresh:
            with workspace.reading() as journal:
                current = find_current(journal, workspace.worktree)
            if current is not None:
                _archive(workspace, current, None)
        for _ in range(ATTEMPTS):
            if _round(workspace, saved):
                return
    workspace.warn(f"{SESSION} is written by somebody else all the time; it will be written later")


def _round(workspace: Workspace, saved: str | None) -> bool:
    """Take in and write once; False where somebody else wrote the file in between."""
    memory = recall(workspace)
    try:
        face = read_session(workspace)
        if face is not None and digest(face.data) != memory.digest and not _take_in(workspace, face, memory):
            return True
    except (Unreadable, Incompatible) as error:
        workspace.warn(told(error))
        return True
    if workspace.is_preview:
        return True
    with workspace.reading() as journal:
        current = find_current(journal, workspace.worktree)
        unarchived = [run for run in list_runs(journal, workspace.worktree) if not run.archived]
        left = [run for run in unarchived if current is None or run.id != current.id]
    for run in left:
        if not _archive(workspace, run, face if is_of(face, run) else None):
            return False
        face = None if is_of(face, run) else face
    return current is None or _show(workspace, current, face, always=current.id == saved)


def _show(workspace: Workspace, run: Run, face: Face | None, *, always: bool) -> bool:
    """Let the file, or the history, say what the run is now."""
    memory = recall(workspace)
    if face is None and memory.run == run.id and _was_archived(workspace, run, memory):
        return True
    if not run.status.is_open:
        return _archive(workspace, run, face if is_of(face, run) else None)
    is_written = face is not None and digest(face.data) == memory.digest
    if is_written and not always and (memory.run, memory.seq) == (run.id, run.seq):
        return True
    return _write(workspace, run, face, workspace.clock.now() if always else run.updated)


# Taking in


def _take_in(workspace: Workspace, face: Face, memory: Written) -> bool:
    """Let the journal follow what somebody else wrote; False for a file that is not this worktree's to follow."""
    theirs = read_state(workspace.hide(face.value))  # safeguard: hide-session-file-read
    with workspace.writing(for_session=False) as journal:
        run = journal.find_run(name_of(theirs.session_id)) if theirs.session_id else None
        if run is not None and (run.layout != NAME or run.worktree != workspace.worktree):
            workspace.warn(f"{SESSION} is left alone: run {run.id} is not this worktree's; `holdfast switch {run.id}`")
            return False
        is_new = run is None
        if run is None:
            run = _begin(workspace, journal, theirs)
            before = State(run.id, run.goal, run.mode or "default")
        else:
            before = _last_written(workspace, memory, run, theirs)
        if run.archived and run.status.is_open:  # somebody else took it out of the history
            journal.append(run.id, Draft("run.archived", {"path": None}))
        journal.append(run.id, *drafts(before, theirs, run, workspace.clock.now(), as_written=is_new))
    remember(workspace, Written(run.id, 0, digest(face.data), face.value))
    return True


def take_salvaged(workspace: Workspace, members: Body) -> None:
    """Take in what could be read of a file that was damaged: what it lacks is not missed."""
    theirs = {**members, "schema_version": VERSION}
    with workspace.reading() as journal:
        current = find_current(journal, workspace.worktree)
    if not isinstance(theirs.get("session_id"), str) and current is not None:
        theirs["session_id"] = current.id
    _take_in(workspace, parse_face(workspace.root / SESSION, json.dumps(theirs).encode()), Written())


def ingest_archive(workspace: Workspace) -> None:
    """Let the journal know the sessions in the history, and say which of its files cannot be read."""
    for what in adopt_history(workspace):
        workspace.warn(f"{HISTORY} is not read whole: {one_line(what, 200)}")


def adopt_history(workspace: Workspace) -> list[str]:
    """Let the journal know the sessions in the history that others put there. Answers with those that are damaged."""
    try:
        check_place(workspace)
    except Refused as error:
        return [error.message]
    damaged = []
    for place in sorted((workspace.root / HISTORY).glob("*.json"))[:MOST_ARCHIVED]:
        try:
            # safeguard: hide-session-history
            theirs = read_state(workspace.hide(read_face(place, root=workspace.root).value))
        except (Unreadable, Incompatible) as error:
            damaged.append(f"{path_text(place.name)}: {error.why if isinstance(error, Unreadable) else error}")
            continue
        if not theirs.session_id:
            damaged.append(f"{path_text(place.name)}: it names no session")
            continue
        with workspace.reading() as journal:
            is_known = journal.find_run(name_of(theirs.session_id)) is not None
        if not is_known:
            _adopt(workspace, theirs, path_text(place.relative_to(workspace.root)))
    return damaged


def _adopt(workspace: Workspace, theirs: State, path: str) -> None:
    with workspace.writing(for_session=False) as journal:
        run = _begin(workspace, journal, theirs, current=False)
        before = State(run.id, run.goal, run.mode or "default")
        told = drafts(before, theirs, run, workspace.clock.now(), as_written=True)
        journal.append(run.id, *told)
        journal.append(run.id, Draft("run.archived", {"path": path}, time=journal.get_run(run.id).updated))


def _begin(workspace: Workspace, journal: Journal, theirs: State, *, current: bool = True) -> Run:
    """A run of the journal for a session that somebody else began."""
    id = name_of(theirs.session_id) if theirs.session_id else make_id(workspace)
    body = {"goal": theirs.goal, "layout": NAME, "mode": theirs.mode, "worktree": workspace.worktree}
    draft = Draft("run.started", {**body, "directory": path_text(workspace.root), "unasked": True})
    now, created = workspace.clock.now(), moment(theirs.created) or last_time(theirs)
    run = journal.start(id, structs.replace(draft, time=created if created and created < now else now))
    if current:
        journal.point(workspace.worktree, run.id)
    return run


def _last_written(workspace: Workspace, memory: Written, run: Run, theirs: State) -> State:
    """The file as we left it. One that is older than that, or that we do not know, takes nothing away from the run."""
    if memory.run != run.id or not memory.value:
        return known_part(theirs, run)
    ours = read_state(workspace.hide(memory.value))  # safeguard: hide-session-file-memory
    written, found = moment(ours.updated), moment(theirs.updated)
    is_older = theirs.updated.endswith("Z") and written and found and found < written  # local times prove nothing
    return known_part(theirs, run) if is_older else ours


# Writing


def _write(workspace: Workspace, run: Run, face: Face | None, updated: datetime | None) -> bool:
    path = workspace.root / SESSION
    before = _held(workspace, run, face)
    members = _members(workspace, run, before, updated)
    if face is not None and (face.flaws or not is_of(face, run)):
        workspace.warn(f"{SESSION} is not written: {'; '.join(face.flaws) or 'it is of another session'}")
        return True
    data = as_bytes(before, members) if face is None or is_legacy(before) else with_members(face, members)
    files.make_directories(path.parent, root=workspace.root)
    if shared_files.replace_shared(path, face.data if face else None, data, SHARED, workspace.root) is not None:
        return False
    remember(workspace, Written(run.id, run.seq, digest(data), parse_face(path, data).value))
    place = place_in_history(workspace, run)
    if place.exists():  # it was gone on with
        files.remove(place, workspace.root)
    return True


def _members(workspace: Workspace, run: Run, before: Body, updated: datetime | None) -> Body:
    """What the file says of the run; what the journal hides of it stays as the file has it."""
    ours = render(run, workspace.hide(before), _where(workspace), updated or workspace.clock.now())
    raw: Body = unmask(ours, before, workspace.hide)  # safeguard: keep-session-file-secrets
    return raw


def _held(workspace: Workspace, run: Run, face: Face | None) -> Body:
    """What the file holds, or held when it was last seen."""
    if face is not None:
        return face.value
    memory = recall(workspace)
    if memory.run == run.id:
        return memory.value
    place = place_in_history(workspace, run)
    return read_face(place, root=workspace.root).value if place.exists() else {}


def _where(workspace: Workspace) -> Body:
    branch = Repository(workspace.root).head().branch
    return {
        "name": path_text(workspace.root.name),
        "path": path_text(workspace.root),
        "git_branch": path_text(branch) if branch else None,
    }


# The history


def _archive(workspace: Workspace, run: Run, face: Face | None) -> bool:
    """Move a run to the history; its file goes once the copy is known to be whole."""
    before = _held(workspace, run, face)
    data = as_bytes(before, _members(workspace, run, before, run.updated))
    place = place_in_history(workspace, run)
    files.make_directories(place.parent, root=workspace.root)
    files.write(place, data, SHARED, workspace.root)
    if read_state(read_face(place, root=workspace.root).value).session_id != run.id:
        raise Refused("The archived session does not read back", [("path", place)], ["run the command again"])
    memory = recall(workspace)
    if memory.run == run.id:
        remember(workspace, structs.replace(memory, archived=digest(data)))
    if face is not None and not remove(workspace, face):
        return False
    _note_archived(workspace, run, path_text(place.relative_to(workspace.root)))
    return True


def _was_archived(workspace: Workspace, run: Run, memory: Written) -> bool:
    """Whether somebody else has moved the file to the history: then the run is there, as that says."""
    place = place_in_history(workspace, run)
    if not place.exists():
        return False
    face = read_face(place, root=workspace.root)
    if digest(face.data) == memory.archived:  # we have moved it there ourselves, and it is open again
        return False
    _take_in(workspace, face, memory)
    _note_archived(workspace, run, path_text(place.relative_to(workspace.root)))
    return True


def _note_archived(workspace: Workspace, run: Run, path: str) -> None:
    with workspace.writing(for_session=False) as journal:
        journal.append(run.id, Draft("run.archived", {"path": path}))
