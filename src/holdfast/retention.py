"""What may be forgotten: old checkpoints are thinned out, and what somebody named, pinned or still needs stays."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from holdfast.model import Checkpoint


class Rules(Struct):
    """All of the last day, one an hour of the last week, one a day before; and two bounds on top."""

    all_of: timedelta = timedelta(days=1)
    hourly: timedelta = timedelta(days=7)
    oldest: timedelta | None = None
    most: int | None = None


def plan_retention(
    checkpoints: Iterable[Checkpoint], needed: set[str], now: datetime, rules: Rules
) -> list[Checkpoint]:
    """The checkpoints that may go. The newest of each worktree always stays."""
    ordered = sorted(checkpoints, key=lambda checkpoint: checkpoint.time, reverse=True)
    going: list[Checkpoint] = []
    taken: set[tuple[str, str]] = set()
    staying = 0
    newest: set[str] = set()
    for checkpoint in ordered:
        first = checkpoint.worktree not in newest
        newest.add(checkpoint.worktree)
        slot = (checkpoint.worktree, _slot(checkpoint.time, now, rules))
        if first or _stays(checkpoint, needed) or not _may_go(checkpoint, slot, taken, staying, now, rules):
            staying += 1
            taken.add(slot)
        else:
            going.append(checkpoint)
    return going


def _stays(checkpoint: Checkpoint, needed: set[str]) -> bool:
    return checkpoint.pinned or checkpoint.name is not None or checkpoint.id in needed


def _may_go(
    checkpoint: Checkpoint,
    slot: tuple[str, str],
    taken: set[tuple[str, str]],
    staying: int,
    now: datetime,
    rules: Rules,
) -> bool:
    if rules.most is not None and staying >= rules.most:
        return True
    if rules.oldest is not None and now - checkpoint.time > rules.oldest:
        return True
    return slot in taken


def _slot(time: datetime, now: datetime, rules: Rules) -> str:
    """Checkpoints of one slot are thinned out to one. A clock that was ahead counts as now."""
    age = now - time
    if age <= rules.all_of:
        return time.isoformat()
    return f"{time:%Y-%m-%d %H}" if age <= rules.hourly else f"{time:%Y-%m-%d}"
