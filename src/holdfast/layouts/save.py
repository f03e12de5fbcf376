"""Save a run without session records: write its files, and make a checkpoint of the changes."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.model import Checkpoint, Reason
from holdfast.layouts.registry import find_layout
from holdfast.project.checkpoints.create import keep_changes, refuse_unfinished, shadow_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Saved(Struct):
    run: str
    seq: int  # the run's last event
    checkpoint: Checkpoint  # a new one, or the last one if it holds the same
    changed: bool  # whether the checkpoint is new


def save_run(workspace: Workspace, run: str | None) -> Saved:
    """Make a checkpoint of the worktree and the run's state, unless the last one holds both."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run)
    if workspace.is_off:
        raise Refused("Holdfast is off here, so nothing is saved", [("store", workspace.place)], ["`holdfast on`"])
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
        find_layout(found.layout).reconcile(workspace, saved=found.id)
        kept, is_new = keep_changes(
            workspace, shadow, Reason.SAVED, found, holds=lambda last: (last.run, last.seq) == (found.id, found.seq)
        )
        return Saved(found.id, found.seq, kept, is_new)
