"""The orchestrator's session file on disk: where it lies, what was last written into it, and how it is put aside."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.ids import hexdigest
from holdfast.core.model import Body, Run
from holdfast.core.text import sound
from holdfast.layouts import json_file, memory
from holdfast.layouts.foreign_ids import is_usable
from holdfast.layouts.json_file import Face, Unreadable, read_face
from holdfast.layouts.orchestrator.presence import MEMORY as MEMORY
from holdfast.layouts.orchestrator.rules import HISTORY, SESSION
from holdfast.layouts.orchestrator.schema import LEGACY, LONGEST, Incompatible, read_state, state_of
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths, shared_files

SHARED = 0o644  # a new file of the project is for all who work on it


class Written(Struct):
    """What we last wrote into the file: of which run, after which event."""

    run: str | None = None
    seq: int = 0
    digest: str = ""
    value: Body = {}
    archived: str = ""  # the digest of what we put into the history


def check_place(workspace: Workspace) -> None:
    """Refuse a project in which links lead from the file's places to somewhere outside: they come with a clone."""
    for path in (SESSION, HISTORY):
        try:
            safe_paths.resolve(workspace.root, path)
        except safe_paths.Outside as error:
            raise Refused(f"{path} leads out of the project", [], ["remove the link"]) from error


def read_session(workspace: Workspace) -> Face | None:
    """The file, or None where there is none."""
    try:
        return read_face(workspace.root / SESSION, root=workspace.root)
    except Unreadable as error:
        if error.reason == "missing":
            return None
        raise


def find_incompatible(workspace: Workspace) -> Incompatible | None:
    """Why the file cannot be followed though it is whole: it is of another major version."""
    try:
        if face := read_session(workspace):
            read_state(face.value)
    except Incompatible as error:
        return error
    except Unreadable:
        return None
    return None


def told(error: Unreadable | Incompatible) -> str:
    if isinstance(error, Incompatible):
        return f"{SESSION} is of another version and is left alone: {error}"
    return f"{SESSION} cannot be read: {error.why}; {error.remedy('`holdfast continue` offers what is left')}"


def name_of(session_id: str) -> str:
    """The run that a session is in the journal: its own name, unless that could be taken for something else."""
    if ids.is_safe(session_id) and is_usable(session_id):
        return session_id
    return f"session-{hexdigest('sha256', session_id.encode('utf-8', 'surrogatepass'))[:20]}"


def is_of(face: Face | None, run: Run) -> bool:
    """Whether this file shows the run. One that names no session is whose it happens to be."""
    if face is None:
        return False
    id = face.value.get("session_id")
    return not isinstance(id, str) or not id.strip() or name_of(id.strip()[:LONGEST]) == run.id


def as_bytes(before: Body, members: Body) -> bytes:
    """A file that is written as a whole: ours first, and what it held beside that."""
    others = {name: value for name, value in before.items() if name not in LEGACY and name not in members}
    return json_file.as_bytes({**members, **others})


def put_aside(workspace: Workspace) -> Path:
    """Move a damaged file out of the way; nothing of it is lost."""
    mark = f"corrupt-{workspace.clock.now():%Y%m%d-%H%M%S}"
    return files.move_aside(workspace.root / SESSION, mark, workspace.root)


def remove(workspace: Workspace, face: Face) -> bool:
    """Take the file that was read away; False where somebody wrote another one meanwhile."""
    if not face.flaws:
        return shared_files.remove_shared(face.path, face.data, workspace.root) is None
    if files.read(face.path, root=workspace.root) != face.data:
        return False
    put_aside(workspace)  # a part of it is nowhere else
    return True


def place_in_history(workspace: Workspace, run: Run) -> Path:
    """A name that nobody else's session has; one of the same run that was left half done is taken again."""
    directory = workspace.root / HISTORY
    name = run.id if ids.is_safe(run.id) else ids.file_name(run.id)
    for number in range(1, 1_000):
        place = directory / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
        if not os.path.lexists(place) or _is_same(workspace, place, run):
            return place
    raise Refused("The history has too many sessions of this name", [("directory", directory)], ["move some away"])


def _is_same(workspace: Workspace, place: Path, run: Run) -> bool:
    """Whether a file of the history is of this very run: begun at the same moment."""
    try:
        found = read_state(read_face(place, root=workspace.root).value)
    except (Unreadable, Incompatible):
        return False
    mine = state_of(run)
    return (found.session_id, found.created) == (mine.session_id, mine.created)


def digest(data: bytes) -> str:
    return hexdigest("blake2b", data, digest_size=16)


def recall(workspace: Workspace) -> Written:
    return memory.recall(memory.place_of(workspace) / MEMORY, Written)


def expect(workspace: Workspace) -> None:
    """Let every later command look for the file, also if this one is killed before it is written."""
    if not (memory.own_directory(workspace) / MEMORY).exists():
        remember(workspace, Written())


def remember(workspace: Workspace, written: Written) -> None:
    """Lost by a power cut, the file counts as an old copy: only what the run does not know is taken from it."""
    data = msgspec.json.encode(sound(msgspec.to_builtins(written), small=True))  # others may write what no JSON holds
    files.put(memory.place_of(workspace) / MEMORY, data, synced=False)
