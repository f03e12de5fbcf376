"""The orchestrator's session file on disk, the history, the record of the last write, and the run in the file."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.model import Body, Run
from holdfast.journal.journal import Journal
from holdfast.layouts import json_file, memory
from holdfast.layouts.json_file import JsonFile, Unreadable, read_json
from holdfast.layouts.orchestrator import HISTORY, NAME, RECORD, SESSION
from holdfast.layouts.orchestrator.schema import LEGACY, LONGEST, Incompatible, read_state, state_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths, shared_files


class Written(Struct):
    run: str | None = None
    seq: int = 0
    digest: str = ""
    value: Body = {}
    archived: str = ""  # the digest of the file that we wrote into the history


def check_place(workspace: Workspace) -> None:
    """Refuse a project in which links lead out of it from the file's directories: a clone may contain such links."""
    for path in (SESSION, HISTORY):
        try:
            safe_paths.resolve(workspace.root, path)
        except safe_paths.Outside as error:
            raise Refused(f"{path} leads out of the project", [], ["remove the link"]) from error


def list_files(workspace: Workspace) -> list[str]:
    return [name for name in (SESSION, HISTORY) if os.path.exists(f"{workspace.root}/{name}")]


def has_archive(workspace: Workspace) -> bool:
    return (workspace.root / HISTORY).is_dir()


def read_session(workspace: Workspace) -> JsonFile | None:
    try:
        return read_json(workspace.root / SESSION, root=workspace.root)
    except Unreadable as error:
        if error.is_missing:
            return None
        raise


def find_incompatible(workspace: Workspace) -> Incompatible | None:
    """Find out whether the file is undamaged, but of another major version."""
    try:
        if file := read_session(workspace):
            read_state(file.value)
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
    """The id of a session's run in the journal."""
    return memory.journal_id(session_id, "session", is_safe=ids.is_safe(session_id))


def is_of(file: JsonFile | None, run: Run) -> bool:
    """Return whether the file shows the run; one that names no session shows any run."""
    if file is None:
        return False
    id = file.value.get("session_id")
    return not isinstance(id, str) or not id.strip() or name_of(id.strip()[:LONGEST]) == run.id


def as_bytes(before: Body, members: Body) -> bytes:
    """Encode a file as a whole: our members first, then the other ones that it held."""
    others = {name: value for name, value in before.items() if name not in LEGACY and name not in members}
    return json_file.as_bytes({**members, **others})


def put_aside(workspace: Workspace) -> Path:
    """Rename a damaged file."""
    mark = f"corrupt-{workspace.clock.now():%Y%m%d-%H%M%S}"
    return files.move_aside(workspace.root / SESSION, mark, workspace.root)


def remove(workspace: Workspace, file: JsonFile) -> bool:
    """Remove the file that was read; False if another program has written it since."""
    if not file.flaws:
        return shared_files.remove_shared(file.path, file.data, workspace.root) is None
    if files.read(file.path, root=workspace.root) != file.data:
        return False
    put_aside(workspace)  # no other file has its flawed members
    return True


def place_in_history(workspace: Workspace, run: Run) -> Path:
    """A path in the history for a run: an unused one, or that of an earlier, interrupted attempt."""
    directory = workspace.root / HISTORY
    name = run.id if ids.is_safe(run.id) else ids.file_name(run.id)
    for number in range(1, 1_000):
        place = directory / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
        if not os.path.lexists(place) or _is_same(workspace, place, run):
            return place
    raise Refused("The history has too many sessions of this name", [("directory", directory)], ["move some away"])


def _is_same(workspace: Workspace, place: Path, run: Run) -> bool:
    """Return whether a file of the history is of this run, created at the same time."""
    try:
        found = read_state(read_json(place, root=workspace.root).value)
    except (Unreadable, Incompatible):
        return False
    mine = state_of(run)
    return (found.session_id, found.created) == (mine.session_id, mine.created)


def recall(workspace: Workspace) -> Written:
    return memory.recall(memory.place_of(workspace) / RECORD, Written)


def remember(workspace: Workspace, written: Written) -> None:
    memory.remember(memory.place_of(workspace) / RECORD, written)


MOST = 50  # runs of a worktree that may be in the file


def prepare_start(workspace: Workspace) -> bool:
    """Expect the file from now on; false if it is of an incompatible version, so that no run is archived."""
    if not (memory.own_directory(workspace) / RECORD).exists():
        remember(workspace, Written())  # later commands then look for the file even if this one is killed
    return find_incompatible(workspace) is None


def make_id(workspace: Workspace, journal: Journal | None = None) -> str:
    """An id in the form of the document: the day, and six characters."""
    return f"{workspace.clock.now():%Y-%m-%d}-{ids.make('x')[2:8]}"


def current_run(workspace: Workspace) -> Run | None:
    with workspace.reading() as journal:
        return find_current(journal, workspace.worktree)


def find_current(journal: Journal, worktree: str) -> Run | None:
    """The run in the session file: the unarchived one that was started or resumed last."""
    pointed = journal.find_run(journal.view.pointer(worktree) or "")
    if pointed and pointed.layout == NAME and not pointed.archived and pointed.worktree == worktree:
        return pointed
    return next((run for run in list_runs(journal, worktree) if not run.archived), None)


def is_meant(workspace: Workspace) -> bool:
    """Return whether the current run is the orchestrator's; without a current run, whether its files are here."""
    with contextlib.suppress(HoldfastError):
        if workspace.exists:
            with workspace.reading() as journal:
                return select.get_run(workspace, journal, None, ended_too=True).layout == NAME
    return bool(list_files(workspace))


def list_runs(journal: Journal, worktree: str) -> list[Run]:
    return memory.list_runs(journal, NAME, worktree, MOST)[::-1]
