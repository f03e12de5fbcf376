"""Retention: which old checkpoints, tool outputs and exported runs can be removed.

Named, pinned and needed data stays, and so does data that cannot be proven removable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from datetime import datetime, timedelta

from msgspec import Struct

from holdfast.core import lifecycle
from holdfast.core.model import Checkpoint, Run

# Kinds of events -> keys of raw tool output in their bodies. No state is folded from it.
RAW = {"call.kept": ("call",), "call.late": ("call",), "action.taken": ("outcome",), "subagent.told": ("result",)}


def why_output_stays(run: Run, rules: lifecycle.Rules) -> str | None:
    """Return why the output of a run's tools is kept regardless of quotas; None if it can go."""
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
    """Return why a run is kept regardless of quotas. `exported` is its last event in an export."""
    if why := why_output_stays(run, rules):
        return why
    if run.owned is not None or run.archived is not None:
        return "another system's"
    if in_use:
        return "in use"
    return "not exported" if exported < run.seq else None


class Rules(Struct):
    """Keep all of the last day, one an hour of the last week, one a day before; with three optional bounds."""

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
    """Return the checkpoints to remove.

    The last one of each worktree stays, unless the worktree is in `ended` and the checkpoint is too old. `weights` has
    the bytes that each needs and no newer one shares.
    """
    ordered = sorted(checkpoints, key=lambda checkpoint: (checkpoint.time, checkpoint.number), reverse=True)
    last, removed = dict[str, str](), list[Checkpoint]()
    for checkpoint in sorted(ordered, key=lambda checkpoint: checkpoint.number, reverse=True):
        last.setdefault(checkpoint.worktree, checkpoint.id)  # by number: a clock can be set back
    taken, staying, size = set[tuple[str, str]](), dict[str, int](), 0
    for checkpoint in ordered:
        worktree, weight = checkpoint.worktree, (weights or {}).get(checkpoint.id, 0)
        age = now - checkpoint.time  # negative for a time in the future, which counts as now
        part = None if age <= rules.all_of else len("2026-01-01T00") if age <= rules.hourly else len("2026-01-01")
        slot = worktree, checkpoint.time.isoformat()[:part]  # of which only one is kept
        too_old = rules.oldest is not None and age > rules.oldest
        if checkpoint.pinned or checkpoint.name is not None or checkpoint.id in needed:
            stays = True
        elif checkpoint.id == last[worktree]:
            stays = not (too_old and worktree in ended)
        else:
            too_many = rules.most is not None and staying.get(worktree, 0) >= rules.most
            too_heavy = rules.bytes is not None and size + weight > rules.bytes
            stays = not (too_old or too_many or too_heavy or slot in taken)
        if not stays:
            removed.append(checkpoint)
            continue
        staying[worktree] = staying.get(worktree, 0) + 1
        size += weight
        taken.add(slot)
    return removed


def still_needed(ledger: Run | None) -> set[str]:
    """Return the checkpoints that an undo, a redo or an unfinished restore refers to."""
    if ledger is None:
        return set()
    ways = [*ledger.undoable, *ledger.redoable, *([ledger.unfinished] if ledger.unfinished else [])]
    return {id for way in ways for id in (way.before, way.target)}
