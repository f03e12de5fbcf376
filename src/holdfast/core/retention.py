"""What may be forgotten: old checkpoints, what tools gave, runs that were exported; and what never is.

What somebody named, pinned or still needs stays, and what is not known for sure to be none of these stays too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from datetime import datetime, timedelta

from msgspec import Struct

from holdfast.core import lifecycle
from holdfast.core.model import Checkpoint, Run

# Kinds of events, and where in their bodies stands what tools gave, as it came. No state rests on it.
RAW = {"call.kept": ("call",), "call.late": ("call",), "action.taken": ("outcome",), "subagent.told": ("result",)}


def why_output_stays(run: Run, rules: lifecycle.Rules) -> str | None:
    """Why what the tools of a run gave is not thinned out, whatever the numbers say."""
    if not rules.is_known:
        return "unknown"
    if run.status.is_open:
        return "open"
    if run.open_sessions:
        return "in use"
    if run.name or run.tags:
        return "named"
    return "pinned" if any(entry.pinned for entry in run.pinnable.values()) else None


def why_run_stays(run: Run, rules: lifecycle.Rules, exported: int, in_use: bool) -> str | None:
    """Why a run is not removed, whatever the numbers say. `exported` is the last of its events that a file holds."""
    if why := why_output_stays(run, rules):
        return why
    if run.owned is not None or run.archived is not None:
        return "another system's"
    if in_use:
        return "in use"
    return "not exported" if exported < run.seq else None


class Rules(Struct):
    """All of the last day, one an hour of the last week, one a day before; and three bounds on top."""

    all_of: timedelta = timedelta(days=1)
    hourly: timedelta = timedelta(days=7)
    oldest: timedelta | None = None
    most: int | None = None
    bytes: int | None = None


def plan_retention(
    checkpoints: Iterable[Checkpoint],
    needed: AbstractSet[str],
    now: datetime,
    rules: Rules,
    *,
    weights: Mapping[str, int] | None = None,
    ended: AbstractSet[str] = frozenset(),
) -> list[Checkpoint]:
    """The checkpoints that may go.

    The last of each worktree stays, unless that worktree has `ended` and the checkpoint is too old. `weights` tells how
    many bytes each needs that no newer one needs too.
    """
    ordered = sorted(checkpoints, key=lambda checkpoint: (checkpoint.time, checkpoint.number), reverse=True)
    planning = _Planning(_last(ordered), needed, now, rules, weights or {}, ended)
    return [checkpoint for checkpoint in ordered if planning.may_go(checkpoint)]


def _last(ordered: list[Checkpoint]) -> set[str]:
    """The last checkpoint of each worktree, by number: a clock can go back."""
    last: dict[str, Checkpoint] = {}
    for checkpoint in ordered:
        if checkpoint.worktree not in last or checkpoint.number > last[checkpoint.worktree].number:
            last[checkpoint.worktree] = checkpoint
    return {checkpoint.id for checkpoint in last.values()}


def still_needed(ledger: Run | None) -> set[str]:
    """Checkpoints that an undo, a redo or an unfinished restore would go to or come from."""
    if ledger is None:
        return set()
    ways = [*ledger.undoable, *ledger.redoable, *([ledger.unfinished] if ledger.unfinished else [])]
    return {id for way in ways for id in (way.before, way.target)}


class _Planning:
    """One walk over checkpoints, from the newest to the oldest."""

    def __init__(
        self,
        last: AbstractSet[str],
        needed: AbstractSet[str],
        now: datetime,
        rules: Rules,
        weights: Mapping[str, int],
        ended: AbstractSet[str],
    ) -> None:
        self.last, self.needed, self.now, self.rules = last, needed, now, rules
        self.weights, self.ended = weights, ended
        self.taken: set[tuple[str, str]] = set()
        self.staying: dict[str, int] = {}
        self.bytes = 0

    def may_go(self, checkpoint: Checkpoint) -> bool:
        slot = (checkpoint.worktree, self._slot(checkpoint.time))
        if not self._is_kept_by_somebody(checkpoint) and self._is_too_much(checkpoint, slot):
            return True
        self.staying[checkpoint.worktree] = self.staying.get(checkpoint.worktree, 0) + 1
        self.bytes += self.weights.get(checkpoint.id, 0)
        self.taken.add(slot)
        return False

    def _is_kept_by_somebody(self, checkpoint: Checkpoint) -> bool:
        return checkpoint.pinned or checkpoint.name is not None or checkpoint.id in self.needed

    def _is_too_much(self, checkpoint: Checkpoint, slot: tuple[str, str]) -> bool:
        rules = self.rules
        too_old = rules.oldest is not None and self.now - checkpoint.time > rules.oldest
        if checkpoint.id in self.last:
            return too_old and checkpoint.worktree in self.ended
        too_many = rules.most is not None and self.staying.get(checkpoint.worktree, 0) >= rules.most
        weight = self.bytes + self.weights.get(checkpoint.id, 0)
        too_heavy = rules.bytes is not None and weight > rules.bytes
        return too_old or too_many or too_heavy or slot in self.taken

    def _slot(self, time: datetime) -> str:
        """Checkpoints of one slot are thinned out to one. A clock that was ahead counts as now."""
        age = self.now - time
        if age <= self.rules.all_of:
            return time.isoformat()
        return f"{time:%Y-%m-%d %H}" if age <= self.rules.hourly else f"{time:%Y-%m-%d}"
