"""Import of a Go Team session that another program began: its files, read tolerantly, as events.

A field may be missing, null or of another type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct, structs

from holdfast.core import ids
from holdfast.core.fold import team
from holdfast.core.model import Body, Draft, Run, Step, int_of, text_of, texts_of
from holdfast.core.text import one_line
from holdfast.layouts.goteam import NAME, diff, schema
from holdfast.layouts.goteam.diff import MOVES, of
from holdfast.layouts.json_file import objects_of
from holdfast.layouts.memory import RESERVED, not_later

NINE = (
    "init", "requirements", "architecture", "implementation", "testing", "review", "optimization", "release",
    "synthesis",
)  # fmt: skip
MOST_STEPS, MOST = 100, 999_999
UNVERIFIED = "unverified: its checksum is not that of its content"
NOTHING = Run(id="")


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
    named: dict[str, Body] = {}
    for item in objects_of(list(found.values()) if isinstance(found, dict) else found):
        named.setdefault(text_of(item.get("id")), item)
    return (item for id, item in named.items() if id)


def drafts(found: Found, worktree: str, directory: str, now: datetime) -> list[Draft]:
    """Convert a session's files to events in the order of their times; times in the future are ignored."""
    created = not_later(found.entry.get("created_at") or found.manifest.get("created_at"), now) or now
    told_topics = (text_of(part.get("topic")) for part in (found.entry, found.manifest, of(found.state, "state")))
    topic = next(filter(None, told_topics), "")
    start = {"goal": one_line(topic, 500) or "a Go Team session", "layout": NAME, "unasked": True}
    told = [
        Draft("run.started", {**start, "worktree": worktree, "directory": directory}, time=created),
        Draft("step.planned", {"steps": _plan(found)}, time=created),
    ]
    if most := int_of(of(found.state, "state").get("max_iterations"), 1, MOST):
        told.append(Draft("loop.limited", {"iterations": most}, time=created))
    last, plan = created, Run(id="", steps=[Step(name, planned=True) for name in _plan(found)])
    for point in points(found):
        last = max(last, not_later(point.get("created_at"), now) or last)
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
    state = of(found.state, "state")
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
    total = int_of(of(found.entry, "progress").get("total_steps"), 1, MOST) or len(NINE)
    if total == len(NINE):
        return list(NINE)
    return [f"step-{number}" for number in range(1, min(total, MOST_STEPS) + 1)]


def kept_point(found: Found, point: Body, time: datetime) -> Iterator[Draft]:
    """Convert a checkpoint's file to events."""
    name = text_of(point.get("step_name")) or "step"
    base = name.removesuffix(team.FINAL)
    is_turn = base.startswith(f"{team.LOOP}-")
    state, git, files = (of(point, key) for key in ("state", "git", "files"))
    step = team.LOOP if is_turn else base
    yield Draft("step.started", {"name": step, "agent": text_of(state.get("current_agent"))}, time=time)
    yield from _dated([*diff.outputs({}, of(point, "outputs"), NOTHING), *diff.metrics({}, state)], time)
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
    context = of(found.state, "context")
    saved = not_later(found.state.get("saved_at"), now) or last
    yield from _dated(diff.live({"state": {"breakpoint_active": False}}, found.state, NOTHING), saved)
    action = text_of(context.get("last_action")) or text_of(of(found.recovery, "last_known_state").get("action"))
    if action:
        file, line = text_of(context.get("current_file")), context.get("current_line")
        count = (
            int_of(of(found.state, "recovery_point").get("actions_since_checkpoint"), 1, MOST) if saved >= last else 0
        )
        body: Body = {"text": one_line(action, 300), "files": [file] if file else [], "line": line, "actions": count}
        yield Draft("action.taken", {key: value for key, value in body.items() if value is not None}, time=saved)


def _status(found: Found, last: datetime, now: datetime) -> Iterator[Draft]:
    """The registry's status. Silence does not change it: the program that wrote it may be at work."""
    word = text_of(found.entry.get("status")) or "interrupted"
    saved = not_later(found.state.get("saved_at"), now) or not_later(found.entry.get("updated_at"), now) or last
    reason = text_of(found.recovery.get("interrupt_reason"))
    at = not_later(found.recovery.get("interrupted_at"), now) or saved
    if word == "interrupted":
        cause = one_line(reason, 40)
        evidence = f"its files say {cause or 'that it was interrupted'}"
        yield Draft("run.interrupted", {"evidence": evidence, "cause": cause}, time=at)
    elif kind := MOVES.get(word):
        yield Draft(kind, {"reason": "its registry says so"}, time=saved if word == "active" else at)


def _saved(found: Found, last: datetime, now: datetime) -> Iterator[Draft]:
    saved, listed = not_later(found.state.get("saved_at"), now), not_later(found.entry.get("updated_at"), now)
    body = {"saved": saved or listed or last, "trigger": text_of(found.state.get("save_trigger"))}
    yield Draft("save.told", body, time=max(filter(None, (saved, listed, last))))


def _dated(drafts: Iterable[Draft], time: datetime) -> list[Draft]:
    return [structs.replace(draft, time=time) for draft in drafts]
