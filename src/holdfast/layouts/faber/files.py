"""Writes of FABER's state file by a load or a save: only our members change, and only if the file is as it was read.

Each write is recorded in the journal.
"""

from __future__ import annotations

import os
import shlex
from datetime import datetime

from msgspec import Struct

from holdfast.core.errors import Busy, HoldfastError, Refused, WorkflowError
from holdfast.core.model import Draft
from holdfast.core.text import one_line, path_text
from holdfast.layouts.faber.find_run import Target, lost_records, read_target
from holdfast.layouts.faber.reconcile import claim, keep_copy, remember, take_face
from holdfast.layouts.faber.session_records import Book, Opening, State
from holdfast.layouts.json_file import Changed, Version, check_writable, read_face, with_members, write_face
from holdfast.layouts.memory import relative
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import Repository

ATTEMPTS = 3  # to write a file that another program writes too
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class Client(Struct, frozen=True):
    """The agent session that loads or saves, as far as it is known."""

    id: str | None = None
    source: str | None = None
    directory: str | None = None
    patience: float = 30.0  # seconds to lock the state file
    by_hook: bool = False  # a hook acts for its own session only


def own_client(workspace: Workspace) -> Client:
    conversation = workspace.callers[0].conversation if workspace.callers else ""
    return Client(one_line(conversation, 200) or None)


def make_opening(workspace: Workspace, target: Target, trigger: str, client: Client) -> Opening:
    now = workspace.clock.now()
    return Opening(
        now=now,
        id=session_id(now),
        trigger=trigger,
        client=client.id,
        source=client.source,
        by_hook=client.by_hook,
        environment=environment(workspace, client),
        worktree=path_text(workspace.root),
        phase=target.told.phase,
        step=target.told.step,
        completed=tuple(name for name, status in target.told.phases if status == "completed"),
    )


def session_id(now: datetime) -> str:
    letters = "".join(LETTERS[byte % len(LETTERS)] for byte in os.urandom(6))
    return f"claude-session-{now:%Y%m%d-%H%M%S}-{letters}"


def environment(workspace: Workspace, client: Client) -> State:
    system = os.uname()
    commit = Repository(workspace.root).head().commit
    return {
        "hostname": system.nodename,
        "platform": system.sysname.lower(),
        "cwd": one_line(client.directory or os.getcwd(), 1_000),
        "git_commit": commit[:7] if commit else None,
    }


def read_again(workspace: Workspace, target: Target, warnings: list[str]) -> Target:
    warnings.append("The state file was changed while we worked; what was written there is kept")
    return read_target(workspace, target.run, "Run not found", "Cannot read state file")


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
    face, changes = target.face, book.members(opening.now)
    try:
        check_writable(face)
        data = with_members(face, changes)
        warnings = write_face(face, data, lock_deadline=client.patience)
    except Changed:
        raise
    except (Refused, Busy) as error:
        raise WorkflowError(
            "Failed to save state file",
            [("Path", relative(workspace, face.path)), ("Error", error.message), *error.facts],
            ["Check file permissions", "Ensure .fractary/ is writable", "Check disk space", *error.hints],
        ) from error
    note_written(workspace, target.run, Version(face.path, data, {**face.value, **changes}), done)
    return warnings


def note_written(workspace: Workspace, run: str, ours: Version, done: Draft) -> None:
    """Record a write in the journal. If that fails, the next command finds the file changed."""
    if not workspace.exists or workspace.is_off:
        return
    try:
        is_ours = files.read(ours.path, root=workspace.root) == ours.data
        face = ours if is_ours else read_face(ours.path, root=workspace.root)
        with workspace.writing(for_session=False) as journal:
            claim(workspace, journal, run)
            if known := take_face(workspace, journal, run, face):
                journal.append(known.id, done)
        keep_copy(workspace, face)
        remember(workspace, face.path)
    except HoldfastError as error:
        workspace.warnings.append(f"the journal does not know of it yet: {error.message}")
