"""Keeping the worktree as a checkpoint where the last one does not hold it: asked for, or after a turn."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.model import Checkpoint, Reason, Run
from holdfast.project import inbox_writer
from holdfast.project.checkpoints.create import look, make_checkpoint, shadow_of
from holdfast.project.checkpoints.interrupted import find_unfinished
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import Shadow


class Turn(Struct):
    """The run and the session that a checkpoint belongs to."""

    run: str
    session: str | None = None
    has_acted: Callable[[], bool] = lambda: True  # asked after the scan: whether the session can have made the changes


def keep_changes(
    workspace: Workspace,
    shadow: Shadow,
    reason: Reason,
    run: Run | None,
    *,
    session: Callable[[], str | None] = lambda: None,
    holds: Callable[[Checkpoint], bool] = lambda last: True,
) -> tuple[Checkpoint, bool]:
    """The checkpoint that has the worktree as it is now, and whether it is new: the last one is not, if it `holds`."""
    with workspace.reading() as journal:
        last = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
    scan = look(workspace, shadow)
    if last is not None and last.tree == scan.tree and holds(last):
        return last, False
    return make_checkpoint(workspace, shadow, run=run, session=session(), reason=reason, seen=scan)[0], True


def keep_if_changed(workspace: Workspace, reason: Reason, turn: Turn | None = None) -> None:
    """Keep a changed worktree: of a turn's run, or else of the current one. Not while a restore is unfinished."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            if find_unfinished(journal, workspace):
                return  # a mixture is nothing to go back to
            run = journal.find_run(turn.run) if turn else select.current_run(journal, workspace.worktree)
        session = (lambda: turn.session if turn.has_acted() else None) if turn else (lambda: None)
        keep_changes(workspace, shadow, reason, run, session=session)


def keep_or_note(workspace: Workspace, reason: Reason, turn: Turn | None = None) -> None:
    """The same for a hook: where it cannot be made, `status` says why, and all else goes on."""
    try:
        keep_if_changed(workspace, reason, turn)
    except HoldfastError as error:
        inbox_writer.note_trouble(str(workspace.place), "checkpoint", reason, error)
