"""Work of a team of agents folded into a run: hand-offs, breakpoints, outputs, metrics, kept steps.

All kinds of runs can have these. The numbers of a Go Team run's steps are parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from holdfast.core.model import Body, Event, Kept, Rollback, Run, Standing, Step, convert, int_of, text_of, texts_of
from holdfast.core.text import one_line, parse_time

BETWEEN = {"1b": "codebase-analysis", "5b": "security", "8b": "documentation"}  # not counted among the nine
FINAL = "-final"
REASONS = {"resume": "recovery", "undo": "undo", "redo": "redo"}
LOOP = "review"
LISTS = ("code_files", "test_files", "review_comments", "optimizations")
KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")
MOST_KEYS, MOST_KEPT = 100, 1_000
TEXT = 200_000  # characters of an output
TRIGGERS = ("auto", "action", "checkpoint", "breakpoint", "agent_switch")  # of a save

NUMBERED = re.compile(r"0*(\d{1,3})(?:\.5|([a-z]))?")
FILE = re.compile(r"step-(0*\d{1,3}[a-z]?)-.+")
TURN = re.compile(rf"{LOOP}-(\d{{1,3}})")
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_]+")


class Meant(msgspec.Struct, frozen=True):
    """A resolved step, and the name under which its result is kept."""

    step: str
    name: str
    completes: bool = True
    turn: int = 0  # of the review loop


def planned(run: Run) -> list[Step]:
    return [step for step in run.steps if step.planned]


def meant(run: Run, word: str) -> Meant:
    """Resolve a step: name, number (`4`, `5.5`, `8b`), file name, or a turn of the review loop."""
    names = [step.name for step in planned(run)]
    if found := FILE.fullmatch(word):
        word = found[1]
    if word == f"{LOOP}-loop" and LOOP in names:  # the name of the step's file
        word = LOOP
    if word in names:
        return Meant(word, word)
    if found := NUMBERED.fullmatch(word):
        number, letter = int(found[1]), found[2] or ("b" if "." in word else "")
        if letter:
            between = BETWEEN.get(f"{number}{letter}", word)
            return Meant(between, between)
        if 0 < number <= len(names):
            return Meant(names[number - 1], names[number - 1])
    if (found := TURN.fullmatch(word)) and LOOP in names:
        return Meant(LOOP, word, completes=False, turn=int(found[1]))
    if word.endswith(FINAL) and word.removesuffix(FINAL) in names:
        return Meant(word.removesuffix(FINAL), word)
    return Meant(word, word)


def known_steps(run: Run) -> list[str]:
    """Return the names of steps that a run can have: its own, and those between the nine."""
    return list(dict.fromkeys([*(step.name for step in run.steps), *BETWEEN.values()]))


def number_of(run: Run, name: str) -> str:
    """Return a step's number as in file names: `04`, `05b`. An unplanned step follows the last one begun."""
    steps = planned(run)
    for place, step in enumerate(steps, 1):
        if step.name == name:
            return f"{place:02d}"
    for label, between in BETWEEN.items():
        if between == name:
            return f"{int(label[:-1]):02d}{label[-1]}"
    begun = [place for place, step in enumerate(steps, 1) if step.status != "pending"]
    return f"{max(begun, default=1):02d}x"


def plain_number(label: str) -> int | str:
    """Return a step's number as a JSON value: an integer, or text such as `5b`."""
    digits = label.lstrip("0") or "0"
    return int(digits) if digits.isdecimal() else digits


def place_of(label: Any) -> tuple[int, str]:
    """Return the sort key of a step number: 5 < 5.5 = `5b` < 6."""
    if isinstance(label, bool) or not isinstance(label, (int, float, str)):
        return 0, ""
    text = str(label)
    found = NUMBERED.fullmatch(text.removesuffix(".0"))
    return (int(found[1]), found[2] or ("b" if "." in text else "")) if found else (0, text[:20])


def current(run: Run) -> Step | None:
    """Return the active step, or else the next one; the last one if all are over."""
    steps = planned(run) or run.steps
    active = [step for step in run.steps if step.status in ("active", "failed")]
    pending = [step for step in steps if step.status == "pending"]
    return next(iter([*active[-1:], *pending[:1], *steps[-1:]]), None)


def last_kept(run: Run) -> Kept | None:
    """Return the newest valid point."""
    return newest_valid(run.standing.kept)


def newest_valid(kept: list[Kept]) -> Kept | None:
    return next((found for found in reversed(kept) if found.is_valid), None)


def since_kept(run: Run) -> int:
    """Return the number of actions after the newest valid point."""
    last = last_kept(run)
    return max(0, run.standing.actions - last.actions) if last else run.standing.actions


def resolve(run: Run, name: str) -> list[Kept]:
    """Return the matching points, best first: by full name, prefix, or step number."""
    exact = [kept for kept in run.standing.kept if kept.id == name or kept.checkpoint == name]
    if exact:
        return exact
    newest = run.standing.kept[::-1]
    if NUMBERED.fullmatch(name):
        found = [kept for kept in newest if place_of(kept.number) == place_of(name)]
    else:
        found = [kept for kept in newest if kept.id.startswith(f"{name}-")] if name.startswith("cp-") else []
    return sorted(found, key=lambda kept: not kept.is_valid)


def completed(run: Run) -> int:
    """Return the number of planned steps with a valid checkpoint."""
    done = {kept.step for kept in run.standing.kept if kept.is_valid and kept.completes}
    return sum(step.name in done for step in planned(run))


def kept_name(run: Run, number: str, name: str, moment: datetime) -> str:
    """Return the unique name of a step's result."""
    plain = NOT_IN_A_NAME.sub("-", one_line(name, 60)).strip("-") or "step"
    base = f"cp-{number}-{plain}-{moment:%Y%m%d-%H%M%S}"
    taken = {kept.id for kept in run.standing.kept}
    return next(id for id in (base, *(f"{base}-{n}" for n in range(2, 10_000))) if id not in taken)


def gone_back(now: Run, then: Run, event: Event) -> Standing:
    """Return the earlier state. Points kept since are invalidated, except the target."""
    body = event.body
    target, way = text_of(body.get("checkpoint")), text_of(body.get("restore")) or "a way back"
    before = {kept.id: kept for kept in then.standing.kept}
    kept = [before.get(found.id) or _left_behind(found, target, way) for found in now.standing.kept]
    if not kept:
        return then.standing
    to, here = newest_valid(kept), last_kept(now)
    record = Rollback(way, event.time, REASONS.get(text_of(body.get("verb")), "observer_requested"))
    if here:
        record.from_checkpoint, record.from_step = here.id, here.number
    if to:
        record.to_checkpoint, record.to_step = to.id, to.number
    return msgspec.structs.replace(
        then.standing,
        kept=kept,
        rollbacks=[*now.standing.rollbacks, record][-MOST_KEPT:],
        recovered=now.standing.recovered,
    )


def _left_behind(kept: Kept, target: str, way: str) -> Kept:
    if kept.checkpoint == target and target:
        return msgspec.structs.replace(kept, invalidated_by=None)
    return kept if kept.invalidated_by else msgspec.structs.replace(kept, invalidated_by=way)


def began(run: Run, event: Event, agents: Mapping[str, str]) -> None:
    """Make the step's agent, named or else the layout's default, the current one."""
    standing, name = run.standing, text_of(event.body.get("name"))
    standing.agent = text_of(event.body.get("agent")) or agents.get(name) or standing.agent
    if name == LOOP:
        standing.iterations += 1
    standing.trigger = "agent_switch"


def _handed(run: Run, event: Event, body: Body) -> None:
    run.standing.agent = text_of(body.get("agent")) or run.standing.agent
    run.standing.trigger = "agent_switch"


def _stopped(run: Run, event: Event, body: Body) -> None:
    run.standing.is_waiting = body.get("on") is True
    run.standing.trigger = "breakpoint" if run.standing.is_waiting else "action"


def _gave(run: Run, event: Event, body: Body) -> None:
    key, items, outputs = text_of(body.get("key")), body.get("items"), run.standing.outputs
    if not KEY.fullmatch(key) or (key not in outputs and len(outputs) >= MOST_KEYS):
        return
    outputs[key] = texts_of(items) if isinstance(items, list) else text_of(body.get("text"))[:TEXT]
    run.standing.trigger = "action"


def _measured(run: Run, event: Event, body: Body) -> None:
    key, value, metrics = text_of(body.get("key")), body.get("value"), run.standing.metrics
    if (
        KEY.fullmatch(key)
        and isinstance(value, (bool, int, float, str))
        and (key in metrics or len(metrics) < MOST_KEYS)
    ):
        metrics[key] = value
    run.standing.trigger = "action"


def _kept(run: Run, event: Event, body: Body) -> None:
    kept = convert({"time": event.time, "seq": event.seq, "actions": run.standing.actions, **body}, Kept)
    if kept is None:
        return
    standing = run.standing
    known = next((found for found in standing.kept if found.id == kept.id), None)
    if known is None:
        standing.kept = [*standing.kept, kept][-MOST_KEPT:]
    elif known.checkpoint is None:
        known.checkpoint = kept.checkpoint  # known from a file so far, and now kept here, too
    if (turn := int_of(body.get("turn"))) is not None:
        standing.iterations = max(standing.iterations, min(turn, 1_000))
    standing.trigger = "checkpoint"


def _judged(run: Run, event: Event, body: Body) -> None:
    """Apply another program's verdict on a point."""
    for kept in run.standing.kept:
        if kept.id == body.get("id"):
            kept.invalidated_by = None if body.get("valid") is True else text_of(body.get("by")) or "somebody else"


def _went_back(run: Run, event: Event, body: Body) -> None:
    """Record a rollback made by another program."""
    found, standing = convert({"time": event.time, **body}, Rollback), run.standing
    if found and all(known.id != found.id for known in standing.rollbacks):
        standing.rollbacks = [*standing.rollbacks, found][-MOST_KEPT:]


def saved(run: Run, event: Event, body: Body) -> None:
    """Note that another program saved its live state, and that nothing was done here since."""
    run.standing.saved = parse_time(body.get("saved"))
    if body.get("trigger") in TRIGGERS:
        run.standing.trigger = text_of(body.get("trigger"))


def _recovered(run: Run, event: Event, body: Body) -> None:
    run.standing.recovered = text_of(body.get("type")) or None
    if run.standing.recovered == "fresh_start":
        way = text_of(body.get("way")) or "a fresh start"
        run.standing = Standing(
            kept=[_left_behind(kept, "", way) for kept in run.standing.kept],
            rollbacks=run.standing.rollbacks,
            recovered=run.standing.recovered,
            most_iterations=run.standing.most_iterations,
        )
        run.steps = [Step(step.name, planned=True) for step in run.steps if step.planned]
        run.actions, run.tasks, run.errors, run.files, run.doing = [], [], [], {}, {}  # prompts and decisions stay


def _limited(run: Run, event: Event, body: Body) -> None:
    if most := int_of(body.get("iterations"), 1, 1_000):
        run.standing.most_iterations = most
    if (turns := int_of(body.get("turns"), 0, 1_000)) is not None:
        run.standing.iterations = turns


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "handoff.made": _handed,
    "breakpoint.set": _stopped,
    "output.given": _gave,
    "metric.given": _measured,
    "step.kept": _kept,
    "step.judged": _judged,
    "rollback.told": _went_back,
    "loop.limited": _limited,
    "run.recovered": _recovered,
}
