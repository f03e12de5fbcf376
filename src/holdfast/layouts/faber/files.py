"""FABER's state file on disk: the run that a load or a save is about, its state, and the writes of it.

A load takes the named run, the active one, or the only open one; a save the named run, the active one, or the one of
this agent session. A write changes only our members, and only if the file is as it was read; the journal records it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from holdfast.core.errors import Ambiguous, Busy, HoldfastError, Refused, WorkflowError
from holdfast.core.formats.json_limits import sparse
from holdfast.core.model import Draft, Run, Status
from holdfast.core.text import one_line, path_text
from holdfast.journal.codec import UNREADABLE
from holdfast.layouts import json_file
from holdfast.layouts.faber import NAME, schema
from holdfast.layouts.faber.reconcile import claim, journal_id, keep_copy, record_state, remember
from holdfast.layouts.faber.schema import Told
from holdfast.layouts.faber.session_records import Book, Opening, State, record_ids
from holdfast.layouts.json_file import Changed, JsonFile, Unreadable, Version, read_json, with_members
from holdfast.layouts.memory import relative
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import Repository

T = TypeVar("T")
ATTEMPTS = 3  # to write a file that another program writes too
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Client(Struct, frozen=True):
    id: str | None = None
    source: str | None = None
    directory: str | None = None
    patience: float = 30.0  # seconds to lock the state file
    by_hook: bool = False  # a hook acts for its own session only


def own_client(workspace: Workspace) -> Client:
    conversation = workspace.callers[0].conversation if workspace.callers else ""
    return Client(one_line(conversation, 200) or None)


def make_opening(workspace: Workspace, target: Target, trigger: str, client: Client) -> Opening:
    now, letters = workspace.clock.now(), "".join(LETTERS[byte % len(LETTERS)] for byte in os.urandom(6))
    system, commit = os.uname(), Repository(workspace.root).head().commit
    return Opening(
        now=now,
        id=f"claude-session-{now:%Y%m%d-%H%M%S}-{letters}",
        trigger=trigger,
        client=client.id,
        source=client.source,
        by_hook=client.by_hook,
        environment={
            "hostname": system.nodename,
            "platform": system.sysname.lower(),
            "cwd": one_line(client.directory or os.getcwd(), 1_000),
            "git_commit": commit[:7] if commit else None,
        },
        worktree=path_text(workspace.root),
        phase=target.told.phase,
        step=target.told.step,
        completed=tuple(name for name, status in target.told.phases if status == "completed"),
    )


def until_written(workspace: Workspace, target: Target, warnings: list[str], write: Callable[[Target], T]) -> T:
    """The result of a write. If another program has changed the file meanwhile, it is read and written again."""
    for _ in range(ATTEMPTS - 1):
        try:
            return write(target)
        except Changed:
            warnings.append("The state file was changed while we worked; what was written there is kept")
            target = read_target(workspace, target.run, loads=True)
    return write(target)


def turned_back(workspace: Workspace, target: Target) -> tuple[str, list[str]] | None:
    """Find out whether the state lacks records that it held before; the message and hints if so."""
    lost = lost_records(workspace, target)
    if not lost:
        return None
    message = (
        f"State file was turned back: it lacks {', '.join(lost[:3])}{' and more' if len(lost) > 3 else ''}, "
        "which it held before (by git pull, perhaps); it is not written"
    )
    repair = f"holdfast repair {shlex.quote(target.run)}"
    return message, [f"`{repair}` puts the last good one back", f"`{repair} --keep` takes it as it is"]


def put_state(
    workspace: Workspace, target: Target, book: Book, opening: Opening, client: Client, done: Draft
) -> list[str]:
    """Write our members of the state, and record it in the journal. Return warnings."""
    file, changes = target.file, book.members(opening.now)
    try:
        json_file.check_writable(file)
        data = with_members(file, changes)
        warnings = json_file.write_json(file, data, lock_deadline=client.patience)
    except Changed:
        raise
    except (Refused, Busy) as error:
        raise WorkflowError(
            "Failed to save state file",
            [("Path", relative(workspace, file.path)), ("Error", error.message), *error.facts],
            ["Check file permissions", "Ensure .fractary/ is writable", "Check disk space", *error.hints],
        ) from error
    note_written(workspace, target.run, Version(file.path, data, {**file.value, **changes}), done)
    return warnings


def note_written(workspace: Workspace, run: str, ours: Version, done: Draft) -> None:
    """Record a write in the journal. If that fails, the next command finds the file changed."""
    if not workspace.exists or workspace.is_off:
        return
    try:
        is_ours = files.read(ours.path, root=workspace.root) == ours.data
        file = ours if is_ours else read_json(ours.path, root=workspace.root)
        with workspace.writing(for_session=False) as journal:
            claim(workspace, journal, run)
            if known := record_state(workspace, journal, run, file):
                journal.append(known.id, done)
        keep_copy(workspace, file)
        remember(workspace, file.path)
    except HoldfastError as error:
        workspace.warnings.append(f"the journal does not know of it yet: {error.message}")


SEARCHED = ("in_progress", "paused", "awaiting_feedback")
REQUIRED = ("run_id", "workflow_id", "status")
ENDED = (Status.COMPLETED, Status.FAILED, Status.ABORTED)


class Target(Struct):
    """A FABER run whose state could be read."""

    run: str
    file: JsonFile
    told: Told
    warnings: list[str] = []

    @property
    def state(self) -> State:
        return self.file.value


def find_for_load(workspace: Workspace, run: str | None) -> Target:
    active, chosen = _chosen(workspace, run)
    chosen = chosen or _only_open(workspace)
    target = read_target(workspace, chosen, loads=True)
    missing = [name for name in REQUIRED if not isinstance(target.state.get(name), str) or not target.state[name]]
    if missing:
        raise WorkflowError(
            "State file is incomplete",
            [("Run ID", chosen), ("Path", relative(workspace, target.file.path)), ("Missing", ", ".join(missing))],
            [*_backup_steps(workspace, chosen, target.file.path), "Complete the state file, then load again"],
        )
    target.warnings += active.warnings
    if target.told.status in ENDED:
        target.warnings.append(f"Run {chosen} is {target.told.word} already")
    return target


def _chosen(workspace: Workspace, run: str | None) -> tuple[schema.Active, str | None]:
    """The named run, or else the active one with the problems of its file."""
    active = schema.find_active(workspace.root) if run is None else schema.Active()
    return active, schema.check_run_id(run) if run is not None else active.run


def find_for_save(workspace: Workspace, run: str | None, client: str | None) -> Target | None:
    active, chosen = _chosen(workspace, run)
    chosen = chosen or _of_session(workspace, client)
    if chosen is None:
        return None
    target = read_target(workspace, chosen, loads=False)
    target.warnings += active.warnings
    return target


def read_target(workspace: Workspace, run: str, *, loads: bool) -> Target:
    """Read the state of a run, or raise the error that FABER's documents have for a load or a save."""
    path = schema.find_state(workspace.root, run)
    if path is None:
        expected = relative(workspace, schema.state_candidates(workspace.root, run)[0])
        if loads:
            steps = ["List active runs: `holdfast runs`", "Start new run: /fractary-faber:workflow-run <work-id>"]
            raise WorkflowError("Run not found", [("Run ID", run), ("Path", expected)], steps)
        steps = ["Verify run ID is correct", "Check if workflow was started", "List available runs: `holdfast runs`"]
        raise WorkflowError("Workflow state file not found", [("Run ID", run), ("Expected", expected)], steps)
    try:
        file = read_json(path, root=workspace.root)
    except Unreadable as error:
        facts = [("Path", relative(workspace, path)), ("Error", error.why)]
        if error.is_denied:
            raise WorkflowError("No permission to read the state file", facts, [error.remedy("")]) from error
        message = f"Cannot {'read' if loads else 'parse'} state file"
        raise WorkflowError(message, facts, _backup_steps(workspace, run, path)) from error
    named = file.value.get("run_id")
    if isinstance(named, str) and named and schema.find_any(workspace.root, named) != path:
        raise WorkflowError(
            "Run ID does not match the state file",
            [("Run ID", run), ("In the file", one_line(named, 200)), ("Path", relative(workspace, path))],
            ["List the runs: `holdfast runs --layout faber`", "Check the active-run file"],
        )
    return Target(run, file, schema.tell(file.value, run))


def is_of(run: str, state: State) -> bool:
    """Return whether a state is of this run, in any spelling of its id; one that names no run is."""
    named = state.get("run_id")
    if named is None or named == run:
        return True
    split = schema.split_run_id(named) if isinstance(named, str) else None
    return split is not None and split == schema.split_run_id(run)


def _backup_steps(workspace: Workspace, run: str, path: Path) -> list[str]:
    found = json_file.best_backup(path, lambda state: is_of(run, state), workspace.root)
    repair = f"`holdfast repair {shlex.quote(run)}`"
    if not found:
        return ["Check if backup exists: none was found beside it", f"{repair} looks into the store"]
    return [f"Check if backup exists: {relative(workspace, found[0].path)} is good", f"Restore it: {repair}"]


def _only_open(workspace: Workspace) -> str:
    candidates: list[tuple[str, Told, State]] = []
    for run, path in schema.list_states(workspace.root):
        try:
            file = read_json(path, root=workspace.root)
        except Unreadable:
            continue
        told = schema.tell(file.value, run)
        if (told.word or "").lower() in SEARCHED:
            candidates.append((run, told, file.value))
    if not candidates:
        raise WorkflowError(
            "No active workflow found",
            [("Looked in", ", ".join((schema.RUNS, *schema.OLDER_RUNS)))],
            ["List all runs: `holdfast runs --layout faber`", "Start new run: /fractary-faber:workflow-run <work-id>"],
        )
    if len(candidates) > 1:
        facts = [(run, _about(told, state)) for run, told, state in candidates]
        hints = ["`holdfast session-load --run-id ID` loads one of them"]
        raise Ambiguous("Several workflows are active", facts, hints)
    return candidates[0][0]


def _about(told: Told, state: State) -> str:
    started = state.get("started_at")
    since = one_line(started, 40) if isinstance(started, str) else "unknown"
    return f"{told.word}, phase {told.phase or 'none'}, started {since}"


def _of_session(workspace: Workspace, client: str | None) -> str | None:
    if not workspace.exists:
        return None
    with workspace.reading() as journal:
        own = journal.find_session(workspace.session or "")
        sessions = [own] if own else journal.sessions_of(client) if client else []
        run = journal.find_run(sessions[0].run) if sessions else None
    return own_id(workspace, run) if run is not None and run.layout == NAME else None


def own_id(workspace: Workspace, run: Run) -> str:
    return next((id for id, _ in schema.list_states(workspace.root) if journal_id(id) == run.id), run.id)


def lost_records(workspace: Workspace, target: Target) -> list[str]:
    """List the session records that the state held once and lacks now, because an old version was restored."""
    now = set(record_ids(target.state))
    known: list[str] = []
    if workspace.exists:
        with workspace.reading() as journal:
            run = journal.find_run(journal_id(target.run))
        if run is not None and run.owned is not None and run.worktree == workspace.worktree:
            known = [*run.owned.lost, *run.owned.sessions]
    backup = target.file.path.with_name(target.file.path.name + ".backup")
    before = _glance(backup, workspace.root)
    known += record_ids(before) if is_of(target.run, before) else []
    return [id for id in dict.fromkeys(known) if id not in now]


class Glance(Struct):
    run_id: Any = None
    sessions: Any = None


def _glance(path: Path, root: Path) -> State:
    """Read a copy of a state that will not be written, without the checks for writing."""
    try:
        found = msgspec.json.decode(sparse(files.read(path, json_file.LIMIT, root) or b""), type=Glance)
        return {"run_id": found.run_id, "sessions": found.sessions}
    except (*UNREADABLE, HoldfastError):  # JSON with flaws too
        try:
            return read_json(path, root=root).value
        except Unreadable:
            return {}


def find_active(workspace: Workspace) -> str | None:
    return schema.find_active(workspace.root).run


def has_state(workspace: Workspace, name: str) -> bool:
    return schema.find_state(workspace.root, name) is not None
