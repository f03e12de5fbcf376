"""Saving a run that has no records of sessions: its files are written, and what changed becomes a checkpoint."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.checkpoint_reason import Reason
from holdfast.core.errors import Refused
from holdfast.core.model import Checkpoint
from holdfast.layouts.registry import find_layout
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Saved(Struct):
    run: str
    seq: int  # the run's last event
    checkpoint: Checkpoint  # the one that holds it: a new one, or the last
    changed: bool  # whether it is a new one


def save_run(workspace: Workspace, run: str | None) -> Saved:
    """Keep the worktree and the run's state as a checkpoint, unless the last one holds both already."""
    # What checkpoints need is much to load, and whoever loads or saves a FABER run needs none of it.
    from holdfast.project.checkpoints.create import look, make_checkpoint, shadow_of
    from holdfast.project.checkpoints.preconditions import refuse_unfinished

    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run)
    if workspace.is_off:
        raise Refused("Holdfast is off here, so nothing is saved", [("store", workspace.place)], ["`holdfast on`"])
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            last = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
        find_layout(found.layout).reconcile(workspace, saved=found.id)
        scan = look(workspace, shadow)
        if last and (last.tree, last.run, last.seq) == (scan.tree, found.id, found.seq):
            return Saved(found.id, found.seq, last, changed=False)
        made, _ = make_checkpoint(workspace, shadow, run=found, reason=Reason.SAVED, seen=scan)
        return Saved(found.id, found.seq, made, changed=True)
