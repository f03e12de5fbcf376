"""The steps of a run: planned or met on the way, each pending, active, completed or failed.

Steps may be told twice, late and in any order; a name that nobody planned is added. What happened later in time wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from holdfast.core.errors import WrongUsage
from holdfast.core.fold.activity import text_of, texts_of
from holdfast.core.model import Body, Event, Run, Step
from holdfast.core.text import checked, one_line

MOST = 200  # steps that a run can have
NAME_LIMIT = 200

PENDING, ACTIVE, COMPLETED, FAILED = "pending", "active", "completed", "failed"


def checked_name(name: str) -> str:
    """The name of a step as it is kept: on one line, without what nobody sees."""
    return one_line(checked(name, "name of the step", NAME_LIMIT))


def checked_plan(names: Iterable[str]) -> list[str]:
    """The names of planned steps, each once."""
    plan = list(dict.fromkeys(map(checked_name, names)))
    if len(plan) > MOST:
        raise WrongUsage("These are too many steps", [("steps", len(plan)), ("limit", MOST)], ["put some together"])
    return plan


def find_step(run: Run, name: str) -> Step | None:
    return next((step for step in run.steps if step.name == name), None)


def is_through(run: Run) -> bool:
    """Whether somebody planned steps for the run, and none of all its steps is left to be done."""
    planned = any(step.planned for step in run.steps)
    return planned and all(step.status == COMPLETED for step in run.steps)


def left_behind(run: Run, last: str) -> list[str]:
    """The steps that are not completed, where this one is the last of the plan."""
    planned = [step.name for step in run.steps if step.planned]
    return [step.name for step in run.steps if step.status != COMPLETED] if planned[-1:] == [last] else []


def told(run: Run) -> Iterator[str]:
    """How far a run has come, in a few lines; nothing where it has no steps."""
    if not run.steps:
        return
    done = sum(step.status == COMPLETED for step in run.steps)
    yield f"{done} of {len(run.steps)} steps completed"
    for step in run.steps:
        if step.status == ACTIVE:
            yield f"active: {one_line(step.name, 120)}{_by(step)}"
        elif step.status == FAILED:
            yield f"failed: {one_line(step.name, 120)}{_by(step)}: {one_line(step.error or 'nobody said why', 200)}"
    following = next((step for step in run.steps if step.status == PENDING), None)
    if following:
        yield f"next: {one_line(following.name, 120)}"


def _by(step: Step) -> str:
    return f" ({one_line(step.agent, 60)})" if step.agent else ""


def _planned(run: Run, event: Event, body: Body) -> None:
    for name in texts_of(body.get("steps")):
        if step := _step(run, name):
            step.planned = True


def _started(run: Run, event: Event, body: Body) -> None:
    step = _step(run, body.get("name"))
    if step is None:
        return
    step.agent = text_of(body.get("agent")) or step.agent
    if step.ended is None or event.time >= step.ended:
        if step.status != ACTIVE:
            step.started, step.ended, step.error = event.time, None, None
        step.status = ACTIVE
    else:
        step.started = step.started or event.time  # its end was told before its beginning


def _ended(run: Run, event: Event, body: Body) -> None:
    step = _step(run, body.get("name"))
    outcome = event.kind.removeprefix("step.")
    if step is None or step.status == outcome or (step.ended and event.time < step.ended):
        return
    step.status, step.ended = outcome, event.time
    step.error = (text_of(body.get("error")) or None) if outcome == FAILED else None


def _step(run: Run, name: object) -> Step | None:
    """The step of a name, made where it was not known; None where there is no name, or no room for another."""
    text = text_of(name)
    found = find_step(run, text)
    if found is None and text and len(run.steps) < MOST:
        found = Step(text)
        run.steps.append(found)
    return found


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "step.planned": _planned,
    "step.started": _started,
    "step.completed": _ended,
    "step.failed": _ended,
}
