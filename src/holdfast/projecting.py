"""The orchestrator's session file as a face of the journal: what somebody else wrote is taken in, then ours is written.

One run of a worktree stands in the file, the one that was started there last. It is written after every change, whole
or not at all. Once the run has ended, or another one is started, it goes to the history: the copy there is verified
before the file is removed. Whoever is killed on the way leaves it to the next command, which finds the file behind.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast import files, ids
from holdfast.adopting import journal_id
from holdfast.errors import Refused
from holdfast.faces import Face, Unreadable, parse_face, read_face, with_members
from holdfast.following import drafts
from holdfast.journal import Journal
from holdfast.layouts.orchestrator import HISTORY, SESSION
from holdfast.model import Body, Draft, Run
from holdfast.orchestra import LEGACY, VERSION, Incompatible, State, is_legacy, read_state, render, state_of
from holdfast.packing import UNREADABLE
from holdfast.records import moment
from holdfast.repository import Repository
from holdfast.stores.protocol import RunQuery
from holdfast.text import path_text
from holdfast.workspace import Workspace

LAYOUT = "orchestrator"
ATTEMPTS = 5
SHARED = 0o644  # a new file of the project is for all who work on it
MOST_ARCHIVED = 10_000
LOOKED_AT = 50  # runs of a worktree among which the one in the file is looked for


class Written(Struct):
    """What we last wrote into the file: of which run, after which event."""

    run: str | None = None
    seq: int = 0
    digest: str = ""
    value: Body = {}


def project(workspace: Workspace, *, fresh: bool = False) -> None:
    """Make the file and the journal say the same. A fresh start sends the run in the file to the history first."""
    if fresh:
        with workspace.reading() as journal:
            current = find_current(journal, workspace.worktree)
        if current is not None:
            _archive(workspace, current, None)
    with files.lock(_directory(workspace) / "session.lock", workspace.settings.number("store.deadline")):
        for _ in range(ATTEMPTS):
            if _round(workspace):
                return
    workspace.warn(f"{SESSION} is written by somebody else all the time; it will be written later")


def _round(workspace: Workspace) -> bool:
    """Take in and write once; False where somebody else wrote the file in between."""
    memory = _load(workspace)
    try:
        face = _read(workspace)
        if face is not None and digest(face.data) != memory.digest:
            _take_in(workspace, face, memory)
    except (Unreadable, Incompatible) as error:
        workspace.warn(told(error))
        return True
    with workspace.reading() as journal:
        current = find_current(journal, workspace.worktree)
        unarchived = [run for run in _ours(journal, workspace.worktree) if not run.archived]
        left = [run for run in unarchived if current is None or run.id != current.id]
    for run in left:
        if not _archive(workspace, run, face if _is_of(face, run) else None):
            return False
        face = None if _is_of(face, run) else face
    if current is None:
        return True
    if face is None and memory.run == current.id and _was_archived(workspace, current, memory):
        return True
    if not current.status.is_open:
        return _archive(workspace, current, face if _is_of(face, current) else None)
    is_written = face is not None and digest(face.data) == memory.digest
    if is_written and (memory.run, memory.seq) == (current.id, current.seq):
        return True
    return _write(workspace, current, face)


def find_current(journal: Journal, worktree: str) -> Run | None:
    """The run that stands in the session file: the one that was started, or gone on with, last and is not archived."""
    pointed = journal.find_run(journal.view.pointer(worktree) or "")
    if pointed and pointed.layout == LAYOUT and not pointed.archived:
        return pointed
    return next((run for run in _ours(journal, worktree) if not run.archived), None)


def _ours(journal: Journal, worktree: str) -> list[Run]:
    query = RunQuery(worktree=worktree, layouts=frozenset({LAYOUT}), limit=LOOKED_AT)
    found, _ = journal.list_runs(query)
    return sorted(found, key=lambda run: (run.created is not None, run.created, run.id), reverse=True)


# Taking in


def _take_in(workspace: Workspace, face: Face, memory: Written, *, trusted: bool = True) -> Run:
    """Let the journal follow what somebody else wrote. Of a file that is not whole, only what it holds is believed."""
    theirs = read_state(face.value)
    with workspace.writing(for_session=False) as journal:
        run = journal.find_run(journal_id(theirs.session_id)) if theirs.session_id else None
        if run is None or run.layout != LAYOUT:
            run = _begin(workspace, journal, theirs)
        before = _last_written(memory, run) if trusted else State(run.id, run.goal, run.mode or "default")
        journal.append(run.id, *drafts(before, theirs, run, workspace.clock.now()))
    _remember(workspace, Written(run.id, 0, digest(face.data), face.value))
    return run


def take_salvaged(workspace: Workspace, members: Body) -> None:
    """Take in what could be read of a file that was damaged: what it lacks is not missed."""
    path = workspace.root / SESSION
    theirs = {**members, "schema_version": VERSION}
    with workspace.reading() as journal:
        current = find_current(journal, workspace.worktree)
    if not isinstance(theirs.get("session_id"), str) and current is not None:
        theirs["session_id"] = current.id
    face = parse_face(path, json.dumps(theirs).encode())
    _take_in(workspace, face, Written(), trusted=False)


def put_aside(workspace: Workspace) -> Path:
    """Move a damaged file out of the way; nothing of it is lost."""
    path = workspace.root / SESSION
    aside = path.with_name(f"{path.name}.corrupt-{workspace.clock.now():%Y%m%d-%H%M%S}")
    with files.os_errors(path):
        os.rename(path, aside)
        files.sync_directory(path.parent)
    return aside


def adopt_history(workspace: Workspace) -> list[str]:
    """Let the journal know the sessions in the history that others put there. Answers with those that are damaged."""
    damaged = []
    for place in sorted((workspace.root / HISTORY).glob("*.json"))[:MOST_ARCHIVED]:
        try:
            face = read_face(place)
            theirs = read_state(face.value)
        except (Unreadable, Incompatible) as error:
            damaged.append(f"{place.name}: {error.why if isinstance(error, Unreadable) else error}")
            continue
        with workspace.writing(for_session=False) as journal:
            if journal.find_run(journal_id(theirs.session_id)) is None and theirs.session_id:
                run = _begin(workspace, journal, theirs, current=False)
                before = State(run.id, run.goal, run.mode or "default")
                journal.append(run.id, *drafts(before, theirs, run, workspace.clock.now()))
                path = path_text(place.relative_to(workspace.root))
                journal.append(run.id, Draft("run.archived", {"path": path}))
    return damaged


def _begin(workspace: Workspace, journal: Journal, theirs: State, *, current: bool = True) -> Run:
    """A run of the journal for a session that somebody else began."""
    id = journal_id(theirs.session_id) if ids.is_safe(theirs.session_id) else make_id(workspace)
    if journal.find_run(id):  # of another kind
        id = make_id(workspace)
    body = {"goal": theirs.goal, "layout": LAYOUT, "mode": theirs.mode, "worktree": workspace.worktree}
    draft = Draft("run.started", {**body, "directory": path_text(workspace.root), "unasked": True})
    now = workspace.clock.now()
    created = moment(theirs.created)
    run = journal.start(id, msgspec.structs.replace(draft, time=created if created and created < now else now))
    if current:
        journal.point(workspace.worktree, run.id)
    return run


def _last_written(memory: Written, run: Run) -> State:
    """The file as we left it; of a run that we never wrote, nothing but its beginning."""
    if memory.run == run.id and memory.value:
        return read_state(memory.value)
    return State(run.id, run.goal, run.mode or "default")


def make_id(workspace: Workspace) -> str:
    """A name as the document has them: the day, and six characters."""
    return f"{workspace.clock.now():%Y-%m-%d}-{ids.make('x')[2:8]}"


# Writing


def _write(workspace: Workspace, run: Run, face: Face | None) -> bool:
    path = workspace.root / SESSION
    before = face.value if face is not None else {}
    members = render(run, before, _project(workspace), workspace.clock.now())
    if face is not None and (face.flaws or not _is_of(face, run)):
        workspace.warn(f"{SESSION} is not written: {'; '.join(face.flaws) or 'it is of another session'}")
        return True
    data = _as_bytes(before, members) if face is None or is_legacy(before) else with_members(face, members)
    path.parent.mkdir(exist_ok=True)
    if files.replace_shared(path, face.data if face else None, data, SHARED) is not None:
        return False
    _remember(workspace, Written(run.id, run.seq, digest(data), parse_face(path, data).value))
    place = _place_in_history(workspace, run)
    if place.exists():  # it was gone on with
        files.remove(place)
    return True


def _as_bytes(before: Body, members: Body) -> bytes:
    """A file that is written as a whole: ours first, and what it held beside that."""
    others = {name: value for name, value in before.items() if name not in LEGACY and name not in members}
    return (json.dumps({**members, **others}, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _project(workspace: Workspace) -> Body:
    branch = Repository(workspace.root).head().branch
    return {
        "name": path_text(workspace.root.name),
        "path": path_text(workspace.root),
        "git_branch": path_text(branch) if branch else None,
    }


# The history


def _archive(workspace: Workspace, run: Run, face: Face | None) -> bool:
    """Move a run to the history; its file goes once the copy is known to be whole."""
    before = face.value if face is not None else {}
    members = render(run, before, _project(workspace), workspace.clock.now())
    data = _as_bytes(before, members)
    place = _place_in_history(workspace, run)
    place.parent.mkdir(parents=True, exist_ok=True)
    files.write(place, data, SHARED)
    if read_state(read_face(place).value).session_id != run.id:
        raise Refused("The archived session does not read back", [("path", place)], ["run the command again"])
    if face is not None and not _remove(face):
        return False
    _note_archived(workspace, run, place)
    return True


def _was_archived(workspace: Workspace, run: Run, memory: Written) -> bool:
    """Whether somebody else has moved the file to the history: then the run is there, as that says."""
    place = _place_in_history(workspace, run)
    if not place.exists():
        return False
    _take_in(workspace, read_face(place), memory)
    _note_archived(workspace, run, place)
    return True


def _note_archived(workspace: Workspace, run: Run, place: Path) -> None:
    with workspace.writing(for_session=False) as journal:
        journal.append(run.id, Draft("run.archived", {"path": path_text(place.relative_to(workspace.root))}))


def _place_in_history(workspace: Workspace, run: Run) -> Path:
    """A name that nobody else's session has; one of the same run that was left half done is taken again."""
    directory = workspace.root / HISTORY
    name = run.id if ids.is_safe(run.id) else ids.file_name(run.id)
    for number in range(1, 1_000):
        place = directory / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
        if not place.exists() or _is_same(place, run):
            return place
    raise Refused("The history has too many sessions of this name", [("directory", directory)], ["move some away"])


def _is_same(place: Path, run: Run) -> bool:
    """Whether a file of the history is of this very run: begun at the same moment, for the same goal."""
    try:
        found = read_state(read_face(place).value)
    except (Unreadable, Incompatible):
        return False
    mine = state_of(run)
    return (found.session_id, found.created, found.goal) == (mine.session_id, mine.created, mine.goal)


def _remove(face: Face) -> bool:
    """Remove the file that was read; False where somebody wrote another one meanwhile."""
    if files.read(face.path) != face.data:
        return False
    files.remove(face.path)
    return True


# What was written last


def _is_of(face: Face | None, run: Run) -> bool:
    if face is None:
        return False
    id = face.value.get("session_id")
    return not isinstance(id, str) or not id or journal_id(id) == run.id


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def told(error: Unreadable | Incompatible) -> str:
    if isinstance(error, Incompatible):
        return f"{SESSION} is of another version and is left alone: {error}"
    return f"{SESSION} cannot be read: {error.why}; `holdfast continue` offers what is left"


def _read(workspace: Workspace) -> Face | None:
    try:
        return read_face(workspace.root / SESSION)
    except Unreadable as error:
        if error.reason == "missing":
            return None
        raise


def _directory(workspace: Workspace) -> Path:
    place = workspace.place / "worktrees" / ids.file_name(workspace.worktree)
    for directory in (place.parent, place):
        files.make_private_directory(directory)
    return place


def _memory(workspace: Workspace) -> Path:
    return workspace.place / "worktrees" / ids.file_name(workspace.worktree) / "session.json"


def _load(workspace: Workspace) -> Written:
    try:
        return msgspec.json.decode(files.read(_memory(workspace)) or b"{}", type=Written)
    except (*UNREADABLE, Refused):
        return Written()


def _remember(workspace: Workspace, written: Written) -> None:
    """Lost by a power cut, everything in the file counts as new, and what the run knows already is not added twice."""
    files.put(_memory(workspace), msgspec.json.encode(written), synced=False)
