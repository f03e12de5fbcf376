"""Pin a decision, note or task, so that every brief carries it; or a checkpoint, so that it stays; or let go of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.model import Checkpoint, Draft
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Pinned(Struct):
    run: str | None  # null for a checkpoint
    entry: str  # its id: `d1`, `t2`, `n3`, or that of a checkpoint
    pinned: bool
    changed: bool


@verb(group=Group.TELL, example="holdfast pin d2", about="let every brief carry an entry")
def pin(
    workspace: Workspace,
    entry: Annotated[str, argument(metavar="N|CHECKPOINT")],
    *,
    off: Annotated[bool, option(help="Let go of it again.")] = False,
    run: RunName = None,
) -> Pinned:
    """Let every brief carry a decision, note or task; or keep a checkpoint. A bare number means a decision."""
    with workspace.writing() as journal:
        if entry.startswith("cp-"):
            return _pin_checkpoint(journal, select.get_checkpoint(workspace, journal, entry), off)
        try:
            return _pin_entry(workspace, journal, entry, off, run)
        except NotFound:
            named = _find_named(workspace, journal, entry) if run is None else None
            if named is None:
                raise
            return _pin_checkpoint(journal, named, off)


def _pin_entry(workspace: Workspace, journal: Journal, entry: str, off: bool, run: str | None) -> Pinned:
    found = select.get_run(workspace, journal, run)
    id = select.get_entry(found.pinnable, entry, "d", "entry")
    changed = found.pinnable[id].pinned == off
    if changed:
        journal.append(found.id, Draft("entry.unpinned" if off else "entry.pinned", {"entry": id}))
    return Pinned(found.id, id, not off, changed)


def _pin_checkpoint(journal: Journal, found: Checkpoint, off: bool) -> Pinned:
    changed = found.pinned == off
    if changed:
        draft = Draft("checkpoint.unpinned" if off else "checkpoint.pinned", {"id": found.id})
        journal.append(journal.ledger(found.worktree).id, draft)
    return Pinned(None, found.id, not off, changed)


def _find_named(workspace: Workspace, journal: Journal, name: str) -> Checkpoint | None:
    """The newest checkpoint that somebody gave this name."""
    return next((found for found in journal.list_checkpoints(workspace.worktree) if found.name == name), None)
