"""The orchestrator's session file as a projection of the journal: ingest external edits, then write.

The file shows one run of a worktree, the one that was started last. It is written atomically after every change. When
the run ends, or another one starts, it is archived: the copy in the history is verified before the file is removed. The
next command completes an interrupted archiving.
"""

from __future__ import annotations

import json
from datetime import datetime

from msgspec import structs

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.model import Body, Draft, Run
from holdfast.core.text import one_line, parse_time, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.json_file import JsonFile, Unreadable, parse_json, read_json, with_members
from holdfast.layouts.memory import SHARED, digest, own_directory, relative
from holdfast.layouts.orchestrator import HISTORY, NAME, SESSION, files as own
from holdfast.layouts.orchestrator.diff import drafts, known_part, last_time
from holdfast.layouts.orchestrator.schema import VERSION, Incompatible, State, is_legacy, read_state, render
from holdfast.project.workspace import Workspace
from holdfast.redaction.unmask import unmask
from holdfast.system import files, shared_files
from holdfast.system.git.repository import Repository

ATTEMPTS = 5
MOST_ARCHIVED = 10_000


def reconcile(workspace: Workspace, *, saved: str | None = None) -> None:
    synchronize(workspace, saved=saved)


def synchronize(workspace: Workspace, *, saved: str | None = None, fresh: bool = False) -> None:
    """Ingest external edits, then write the file. A `fresh` start archives the current run first.

    The file of the run that is `saved` is written in any case, so that `updated` is the time of the save. A failure is
    only a warning: the result of the command is in the journal.
    """
    try:
        with files.os_errors(workspace.root / SESSION):
            _synchronize(workspace, fresh, saved)
    except HoldfastError as error:
        workspace.warn(f"{SESSION} is not written: {one_line(error.message, 200)}")


def _synchronize(workspace: Workspace, fresh: bool, saved: str | None) -> None:
    own.check_place(workspace)  # safeguard: linked-session-file
    # safeguard: lock-orchestrator-file
    with files.lock(own_directory(workspace) / "session.lock", workspace.settings.number("store.deadline")):
        if fresh and (current := own.current_run(workspace)):
            _archive(workspace, current, None)
        for _ in range(ATTEMPTS):
            if _round(workspace, saved):
                return
    workspace.warn(f"{SESSION} is written by somebody else all the time; it will be written later")


def _round(workspace: Workspace, saved: str | None) -> bool:
    """Ingest and write once; False if another program wrote the file in between."""
    memory = own.recall(workspace)
    try:
        file = own.read_session(workspace)
        if file is not None and digest(file.data) != memory.digest and not _take_in(workspace, file, memory):
            return True
    except (Unreadable, Incompatible) as error:
        workspace.warn(own.told(error))
        return True
    if workspace.is_preview:
        return True
    with workspace.reading() as journal:
        current = own.find_current(journal, workspace.worktree)
        left = [run for run in own.list_runs(journal, workspace.worktree) if not run.archived and run != current]
    for run in left:
        if not _archive(workspace, run, file if own.is_of(file, run) else None):
            return False
        file = None if own.is_of(file, run) else file
    return current is None or _show(workspace, current, file, always=current.id == saved)


def _show(workspace: Workspace, run: Run, file: JsonFile | None, *, always: bool) -> bool:
    memory = own.recall(workspace)
    if file is None and memory.run == run.id and _was_archived(workspace, run, memory):
        return True
    if not run.status.is_open:
        return _archive(workspace, run, file if own.is_of(file, run) else None)
    is_written = file is not None and digest(file.data) == memory.digest
    if is_written and not always and (memory.run, memory.seq) == (run.id, run.seq):
        return True
    return _write(workspace, run, file, workspace.clock.now() if always else run.updated)


def _take_in(workspace: Workspace, file: JsonFile, memory: own.Written) -> bool:
    """Append the edits of another program to the journal; False for a file whose run is another worktree's."""
    theirs = read_state(workspace.hide(file.value))  # safeguard: hide-session-file-read
    with workspace.writing(for_session=False) as journal:
        run = journal.find_run(own.name_of(theirs.session_id)) if theirs.session_id else None
        if run is not None and (run.layout != NAME or run.worktree != workspace.worktree):
            workspace.warn(f"{SESSION} is left alone: run {run.id} is not this worktree's; `holdfast switch {run.id}`")
            return False
        is_new = run is None
        if run is None:
            run = _begin(workspace, journal, theirs)
            before = State(run.id, run.goal, run.mode or "default")
        else:
            before = _last_written(workspace, memory, run, theirs)
        if run.archived and run.status.is_open:  # another program moved it back from the history
            journal.append(run.id, Draft("run.archived", {"path": None}))
        journal.append(run.id, *drafts(before, theirs, run, workspace.clock.now(), as_written=is_new))
    own.remember(workspace, own.Written(run.id, 0, digest(file.data), file.value))
    return True


def take_salvaged(workspace: Workspace, members: Body) -> None:
    """Ingest the readable members of a damaged file; members that it lacks do not count as removed."""
    theirs = {**members, "schema_version": VERSION}
    if not isinstance(theirs.get("session_id"), str) and (current := own.current_run(workspace)):
        theirs["session_id"] = current.id
    _take_in(workspace, parse_json(workspace.root / SESSION, json.dumps(theirs).encode()), own.Written())


def ingest_archive(workspace: Workspace) -> None:
    """Ingest the unknown sessions of the history, and warn of its unreadable files."""
    try:
        own.check_place(workspace)
    except Refused as error:
        _warn_unread(workspace, error.message)
        return
    for place in sorted((workspace.root / HISTORY).glob("*.json"))[:MOST_ARCHIVED]:
        try:
            # safeguard: hide-session-history
            theirs = read_state(workspace.hide(read_json(place, root=workspace.root).value))
        except (Unreadable, Incompatible) as error:
            why = error.why if isinstance(error, Unreadable) else error
            _warn_unread(workspace, f"{path_text(place.name)}: {why}")
            continue
        if not theirs.session_id:
            _warn_unread(workspace, f"{path_text(place.name)}: it names no session")
            continue
        with workspace.reading() as journal:
            is_known = journal.find_run(own.name_of(theirs.session_id)) is not None
        if not is_known:
            _adopt(workspace, theirs, relative(workspace, place))


def _warn_unread(workspace: Workspace, what: str) -> None:
    workspace.warn(f"{HISTORY} is not read whole: {one_line(what, 200)}")


def _adopt(workspace: Workspace, theirs: State, path: str) -> None:
    with workspace.writing(for_session=False) as journal:
        run = _begin(workspace, journal, theirs, current=False)
        before = State(run.id, run.goal, run.mode or "default")
        told = drafts(before, theirs, run, workspace.clock.now(), as_written=True)
        journal.append(run.id, *told)
        journal.append(run.id, Draft("run.archived", {"path": path}, time=journal.get_run(run.id).updated))


def _begin(workspace: Workspace, journal: Journal, theirs: State, *, current: bool = True) -> Run:
    id = own.name_of(theirs.session_id) if theirs.session_id else own.make_id(workspace)
    body = {"goal": theirs.goal, "layout": NAME, "mode": theirs.mode, "worktree": workspace.worktree, "unasked": True}
    now, created = workspace.clock.now(), parse_time(theirs.created) or last_time(theirs)
    time = created if created and created < now else now
    run = journal.start(id, Draft("run.started", {**body, "directory": path_text(workspace.root)}, time=time))
    if current:
        journal.point(workspace.worktree, run.id)
    return run


def _last_written(workspace: Workspace, memory: own.Written, run: Run, theirs: State) -> State:
    """The base of the merge: the file as we wrote it. An older or unknown copy removes nothing from the run."""
    if memory.run != run.id or not memory.value:
        return known_part(theirs, run)
    ours = read_state(workspace.hide(memory.value))  # safeguard: hide-session-file-memory
    written = parse_time(ours.updated)
    found = parse_time(theirs.updated) if theirs.updated.endswith("Z") else None  # others are not comparable
    return known_part(theirs, run) if written and found and found < written else ours


def _write(workspace: Workspace, run: Run, file: JsonFile | None, updated: datetime | None) -> bool:
    path = workspace.root / SESSION
    before = _held(workspace, run, file)
    members = _members(workspace, run, before, updated)
    if file is not None and (file.flaws or not own.is_of(file, run)):
        workspace.warn(f"{SESSION} is not written: {'; '.join(file.flaws) or 'it is of another session'}")
        return True
    data = own.as_bytes(before, members) if file is None or is_legacy(before) else with_members(file, members)
    files.make_directories(path.parent, root=workspace.root)
    if shared_files.replace_shared(path, file.data if file else None, data, SHARED, workspace.root) is not None:
        return False
    own.remember(workspace, own.Written(run.id, run.seq, digest(data), parse_json(path, data).value))
    place = own.place_in_history(workspace, run)
    if place.exists():  # the run was resumed
        files.remove(place, workspace.root)
    return True


def _members(workspace: Workspace, run: Run, before: Body, updated: datetime | None) -> Body:
    """The members of the file for a run; text that is masked in the journal stays as the file has it."""
    ours = render(run, workspace.hide(before), _where(workspace), updated or workspace.clock.now())
    raw: Body = unmask(ours, before, workspace.hide)  # safeguard: keep-session-file-secrets
    return raw


def _held(workspace: Workspace, run: Run, file: JsonFile | None) -> Body:
    if file is not None:
        return file.value
    memory = own.recall(workspace)
    if memory.run == run.id:
        return memory.value
    place = own.place_in_history(workspace, run)
    return read_json(place, root=workspace.root).value if place.exists() else {}


def _where(workspace: Workspace) -> Body:
    branch = Repository(workspace.root).head().branch
    return {
        "name": path_text(workspace.root.name),
        "path": path_text(workspace.root),
        "git_branch": path_text(branch) if branch else None,
    }


def _archive(workspace: Workspace, run: Run, file: JsonFile | None) -> bool:
    """Move a run to the history; its file is removed once the copy is verified."""
    before = _held(workspace, run, file)
    data = own.as_bytes(before, _members(workspace, run, before, run.updated))
    place = own.place_in_history(workspace, run)
    files.make_directories(place.parent, root=workspace.root)
    files.write(place, data, SHARED, workspace.root)
    if read_state(read_json(place, root=workspace.root).value).session_id != run.id:
        raise Refused("The archived session does not read back", [("path", place)], ["run the command again"])
    memory = own.recall(workspace)
    if memory.run == run.id:
        own.remember(workspace, structs.replace(memory, archived=digest(data)))
    if file is not None and not own.remove(workspace, file):
        return False
    _note_archived(workspace, run, relative(workspace, place))
    return True


def _was_archived(workspace: Workspace, run: Run, memory: own.Written) -> bool:
    """Return whether another program has moved the file to the history. If so, ingest it."""
    place = own.place_in_history(workspace, run)
    if not place.exists():
        return False
    file = read_json(place, root=workspace.root)
    if digest(file.data) == memory.archived:  # we archived it, and it was reopened since
        return False
    _take_in(workspace, file, memory)
    _note_archived(workspace, run, relative(workspace, place))
    return True


def _note_archived(workspace: Workspace, run: Run, path: str) -> None:
    with workspace.writing(for_session=False) as journal:
        journal.append(run.id, Draft("run.archived", {"path": path}))
