"""Checkpoints that nobody asks for: made when there is something new, and it is worth going back to."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from holdfast.core.checkpoint_reason import Reason
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Checkpoint
from holdfast.project import inbox_writer
from holdfast.project.checkpoints.create import look, make_checkpoint, shadow_of
from holdfast.project.checkpoints.preconditions import find_unfinished
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Turn(Struct):
    """The run and the session that a checkpoint belongs to."""

    run: str
    session: str | None = None
    has_acted: Callable[[], bool] = lambda: True  # asked after the scan: whether the session can have made the changes


def keep_if_changed(workspace: Workspace, reason: Reason, turn: Turn | None = None) -> Checkpoint | None:
    """A checkpoint, if the worktree is not what the last one has: of a turn's run, or else of the current one."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            if find_unfinished(journal, workspace):
                return None  # a mixture is nothing to go back to
            last = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
            run = journal.find_run(turn.run) if turn else select.current_run(journal, workspace.worktree)
        scan = look(workspace, shadow)
        if last is not None and last.tree == scan.tree:
            return None
        session = turn.session if turn and turn.has_acted() else None
        return make_checkpoint(workspace, shadow, run=run, session=session, reason=reason, seen=scan)[0]


def keep_or_note(workspace: Workspace, reason: Reason, turn: Turn | None = None) -> None:
    """The same for a hook: where it cannot be made, `status` says why, and all else goes on."""
    try:
        keep_if_changed(workspace, reason, turn)
    except HoldfastError as error:
        inbox_writer.note_trouble(str(workspace.place), "checkpoint", reason, error)
