"""What happened to a worktree itself: its checkpoints, and the ways back that can be undone and redone."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import structs

from holdfast.core.model import Body, Checkpoint, Event, Restore, Run

T = TypeVar("T")

KEPT_RESTORES = 100
VISITING = "bisect"  # goes to many checkpoints and then back: nothing of it is left to be undone

CONVERSATION = "conversation"  # the key of the conversation that an event without a run comes from


def record_of(checkpoint: Checkpoint) -> Body:
    """A checkpoint as it is stored: what is empty is left out, since there are many."""
    return {name: value for name, value in structs.asdict(checkpoint).items() if value not in (None, "", [], False)}


def apply_checkpoint(checkpoint: Checkpoint | None, event: Event) -> Checkpoint | None:
    """Add one event of a worktree's ledger to a checkpoint's record."""
    if event.kind == "checkpoint.made":
        return _convert({**event.body, "time": event.time}, Checkpoint)
    if checkpoint is not None and event.kind in ("checkpoint.pinned", "checkpoint.unpinned"):
        return structs.replace(checkpoint, pinned=event.kind == "checkpoint.pinned")
    return checkpoint


def restore_began(run: Run, event: Event, body: Body) -> None:
    run.unfinished = _convert(body.get("restore"), Restore)


def restore_ended(run: Run, event: Event, body: Body) -> None:
    """A restore can be undone, an undo redone; anything new ends what could be redone."""
    restore = _convert(body.get("restore"), Restore)
    run.unfinished = None
    if restore is None or body.get("given_up") or restore.verb == VISITING:
        return
    if restore.verb == "undo":
        run.undoable, run.redoable = run.undoable[:-1], [*run.redoable, restore]
    else:
        run.redoable = run.redoable[:-1] if restore.verb == "redo" else []
        run.undoable = [*run.undoable, restore][-KEPT_RESTORES:]


def checkpoint_dropped(run: Run, event: Event, body: Body) -> None:
    """A way back whose checkpoint is gone cannot be taken, nor can those that lie behind it."""
    run.undoable, run.redoable = (_reachable(ways, body.get("id")) for ways in (run.undoable, run.redoable))


def needs(way: Restore, checkpoint: object) -> bool:
    """Whether a way back goes to a checkpoint, or comes from it."""
    return checkpoint in (way.before, way.target)


def _reachable(ways: list[Restore], dropped: object) -> list[Restore]:
    last = max((place for place, way in enumerate(ways) if needs(way, dropped)), default=-1)
    return ways[last + 1 :]


def interrupted(restore: Restore) -> str:
    """What is said where somebody looks while a restore is unfinished."""
    if restore.verb == VISITING:
        return (
            "A bisect was interrupted, so the worktree may be a mixture: `holdfast restore --continue` and "
            "`holdfast restore --undo` both lead back to where it began"
        )
    return (
        f"A restore to {restore.target} was interrupted, so the worktree may be a mixture: "
        "`holdfast restore --continue` finishes it, `holdfast restore --undo` takes it back"
    )


def _convert(value: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind) if value is not None else None
    except msgspec.ValidationError:
        return None
