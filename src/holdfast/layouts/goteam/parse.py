"""Import of a Go Team session that another program began: its files, read tolerantly, as events.

A field may be missing, null or of another type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from holdfast.core import ids
from holdfast.core.fold import team
from holdfast.core.model import Body, Draft, Run, Step, text_of, texts_of
from holdfast.core.text import LIMIT, one_line, parse_time
from holdfast.layouts.goteam import NAME, schema
from holdfast.layouts.json_file import object_of, objects_of
from holdfast.layouts.memory import RESERVED

NINE = (
    "init", "requirements", "architecture", "implementation", "testing", "review", "optimization", "release",
    "synthesis",
)  # fmt: skip
MOST_STEPS = 100
PLACEHOLDER = re.compile(r"\[[^\]\n]*\]")  # `[from checkpoint 2]`: the value is in that file
UNVERIFIED = "unverified: its checksum is not that of its content"
MOVES = {
    "active": "run.resumed",
    "interrupted": "run.interrupted",
    "paused": "run.paused",
    "completed": "run.completed",
    "failed": "run.failed",
    "abandoned": "run.abandoned",
}


class Found(Struct):
    """The files of one session."""

    entry: Body = {}
    manifest: Body = {}
    state: Body = {}
    recovery: Body = {}
    points: list[Body] = []


def is_name(id: str) -> bool:
    """Return whether a session's id can be a run's."""
    return ids.is_safe(id) and not id.startswith((*RESERVED, "."))


def entries(registry: Body | None) -> Iterator[Body]:
    """The sessions of a registry that have an id, each once; they may be a list or an object by id."""
    found = (registry or {}).get("sessions")
    items = list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else []
    seen: set[str] = set()
    for item in items:
        id = text_of(item.get("id")) if isinstance(item, dict) else ""
        if id and id not in seen:
            seen.add(id)
            yield item


def drafts(found: Found, worktree: str, directory: str, now: datetime) -> list[Draft]:
    """Convert a session's files to events in the order of their times; times in the future are ignored."""
    created = _time(found.entry.get("created_at") or found.manifest.get("created_at"), now) or now
    topic = (
        text_of(found.entry.get("topic"))
        or text_of(found.manifest.get("topic"))
        or text_of(_of(found.state.get("state"), "topic"))
    )
    start = {"goal": one_line(topic, 500) or "a Go Team session", "layout": NAME, "unasked": True}
    told = [
        Draft("run.started", {**start, "worktree": worktree, "directory": directory}, time=created),
        Draft("step.planned", {"steps": _plan(found)}, time=created),
    ]
    if most := _whole(_of(found.state.get("state"), "max_iterations")):
        told.append(Draft("loop.limited", {"iterations": most}, time=created))
    last, plan = created, Run(id="", steps=[Step(name, planned=True) for name in _plan(found)])
    for point in points(found):
        last = max(last, _time(point.get("created_at"), now) or last)
        kept = list(kept_point(found, point, last))
        told += [*_passed(plan, kept[0].body["name"], told, last), *kept]
    told += _step(found, plan, told, last)
    return [*told, *_live(found, last, now), *_status(found, last, now), *_saved(found, last, now)]


def _passed(plan: Run, step: str, told: list[Draft], time: datetime) -> Iterator[Draft]:
    """Complete the steps before the one that was reached, even if they left no files."""
    names, done = [known.name for known in plan.steps], {draft.body.get("name") for draft in told}
    for name in names[: names.index(step)] if step in names else ():
        if name not in done:
            yield Draft("step.completed", {"name": name}, time=time)


def _step(found: Found, plan: Run, told: list[Draft], last: datetime) -> Iterator[Draft]:
    """Start the step that the live state names, or else the registry, even if it has a checkpoint.

    A step with a checkpoint is not started again in a session that is over.
    """
    done = {draft.body.get("name") for draft in told if draft.kind == "step.completed"}
    state = object_of(found.state.get("state"))
    for word in (state.get("current_step"), state.get("phase"), found.entry.get("current_step")):
        is_word = isinstance(word, (str, int, float)) and not isinstance(word, bool)
        step = team.meant(plan, str(word).removesuffix(".0")).step if is_word else ""
        if step in team.known_steps(plan):
            yield from _passed(plan, step, told, last)
            if step not in done or found.entry.get("status") not in schema.NOT_RESUMABLE:
                yield Draft("step.started", {"name": step, "agent": text_of(state.get("current_agent"))}, time=last)
            return


def points(found: Found) -> list[Body]:
    """The checkpoints with a file, in the order of their steps."""
    named = {text_of(point.get("id")): point for point in found.points}
    return sorted(
        named.values(),
        key=lambda point: (team.place_of(point.get("step_number")), text_of(point.get("created_at"))),
    )


def _plan(found: Found) -> list[str]:
    total = _whole(_of(found.entry.get("progress"), "total_steps")) or len(NINE)
    if total == len(NINE):
        return list(NINE)
    return [f"step-{number}" for number in range(1, min(total, MOST_STEPS) + 1)]


def kept_point(found: Found, point: Body, time: datetime) -> Iterator[Draft]:
    """Convert a checkpoint's file to events."""
    name = text_of(point.get("step_name")) or "step"
    base = name.removesuffix(team.FINAL)
    is_turn = base.startswith(f"{team.LOOP}-")
    state, git, files = (object_of(point.get(key)) for key in ("state", "git", "files"))
    step = team.LOOP if is_turn else base
    yield Draft("step.started", {"name": step, "agent": text_of(state.get("current_agent"))}, time=time)
    yield from _given(object_of(point.get("outputs")), time)
    yield from _measured(state, time)
    if not is_turn:
        yield Draft("step.completed", {"name": base}, time=time)
    place, suffix = team.place_of(point.get("step_number"))
    listed = next(
        (item for item in objects_of(found.manifest.get("checkpoints")) if item.get("id") == point.get("id")), {}
    )
    is_sound = text_of(point.get("checksum")) == schema.checksum(point)
    is_left = listed.get("valid") is False or point.get("valid") is False
    yield Draft(
        "step.kept",
        {
            "id": one_line(text_of(point.get("id")), 120) or f"cp-{place:02d}{suffix}-{base}",
            "step": step,
            "number": f"{place:02d}{suffix}",
            "completes": not is_turn,
            "branch": text_of(git.get("branch")) or None,
            "commit": text_of(git.get("commit_hash")) or None,
            "flaw": None if is_sound else UNVERIFIED,
            "invalidated_by": (text_of(listed.get("invalidated_by")) or "its manifest") if is_left else None,
            **{key: texts_of(files.get(key)) for key in ("created", "modified", "deleted")},
        },
        time=time,
    )


def _live(found: Found, last: datetime, now: datetime) -> Iterator[Draft]:
    state, context = object_of(found.state.get("state")), object_of(found.state.get("context"))
    saved = _time(found.state.get("saved_at"), now) or last
    if agent := one_line(text_of(state.get("current_agent")), 100):
        yield Draft("handoff.made", {"agent": agent}, time=saved)
    if state.get("breakpoint_active") is True:
        yield Draft("breakpoint.set", {"on": True}, time=saved)
    yield from _measured(state, saved)
    yield from _given(object_of(found.state.get("outputs")), saved)
    for text in texts_of(context.get("pending_tasks"))[:100]:
        yield Draft("task.added", {"text": text[:LIMIT]}, time=saved)
    action = text_of(context.get("last_action")) or text_of(_of(found.recovery.get("last_known_state"), "action"))
    if action:
        file, line = text_of(context.get("current_file")), context.get("current_line")
        point = object_of(found.state.get("recovery_point"))
        is_later = saved >= last
        count = _whole(point.get("actions_since_checkpoint")) if is_later else 0
        body: Body = {"text": one_line(action, 300), "files": [file] if file else [], "line": line, "actions": count}
        yield Draft("action.taken", {key: value for key, value in body.items() if value is not None}, time=saved)


def _status(found: Found, last: datetime, now: datetime) -> Iterator[Draft]:
    """The registry's status. Silence does not change it: the program that wrote it may be at work."""
    word = text_of(found.entry.get("status")) or "interrupted"
    saved = _time(found.state.get("saved_at"), now) or _time(found.entry.get("updated_at"), now) or last
    reason = text_of(found.recovery.get("interrupt_reason"))
    at = _time(found.recovery.get("interrupted_at"), now) or saved
    if word == "interrupted":
        cause = one_line(reason, 40)
        evidence = f"its files say {cause or 'that it was interrupted'}"
        yield Draft("run.interrupted", {"evidence": evidence, "cause": cause}, time=at)
    elif kind := MOVES.get(word):
        yield Draft(kind, {"reason": "its registry says so"}, time=saved if word == "active" else at)


def _saved(found: Found, last: datetime, now: datetime) -> Iterator[Draft]:
    saved, listed = _time(found.state.get("saved_at"), now), _time(found.entry.get("updated_at"), now)
    body = {"saved": saved or listed or last, "trigger": text_of(found.state.get("save_trigger"))}
    yield Draft("save.told", body, time=max(filter(None, (saved, listed, last))))


def _given(outputs: Body, time: datetime) -> Iterator[Draft]:
    for key, value in outputs.items():
        if not isinstance(key, str) or not team.KEY.fullmatch(key):
            continue
        if isinstance(value, str) and value and not PLACEHOLDER.fullmatch(value):
            yield Draft("output.given", {"key": key, "text": value[: team.TEXT]}, time=time)
        elif isinstance(value, list) and value:
            yield Draft("output.given", {"key": key, "items": texts_of(value)[:10_000]}, time=time)


def _measured(state: Body, time: datetime) -> Iterator[Draft]:
    metrics = {**object_of(state.get("quality_metrics")), **object_of(state.get("metrics"))}
    for key, value in metrics.items():
        if isinstance(value, (bool, int, float, str)):
            yield Draft("metric.given", {"key": str(key)[:60], "value": value}, time=time)


def _of(value: Any, key: str) -> Any:
    return object_of(value).get(key)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1_000_000 else None


def _time(value: Any, now: datetime) -> datetime | None:
    found = parse_time(value)
    return found if found and found <= now else None
