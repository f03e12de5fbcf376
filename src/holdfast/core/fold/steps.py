"""Steps of a run, and agents sent out by an orchestrator.

They may be reported twice, late and in any order; unknown names are added. Of contradictory reports the later one wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold.activity import fail
from holdfast.core.model import Body, Event, Run, Step, Worker, int_of, text_of, texts_of
from holdfast.core.text import checked, one_line

MOST_STEPS = 200  # steps of a run
NAME_LIMIT = 200

PENDING, ACTIVE, COMPLETED, FAILED = "pending", "active", "completed", "failed"


def checked_name(name: str) -> str:
    """Return the name of a step as stored: one line of visible text."""
    return one_line(checked(name, "name of the step", NAME_LIMIT))


def checked_plan(names: Iterable[str]) -> list[str]:
    """Return the names of planned steps, without duplicates."""
    plan = list(dict.fromkeys(map(checked_name, names)))
    if len(plan) > MOST_STEPS:
        facts = [("steps", len(plan)), ("limit", MOST_STEPS)]
        raise WrongUsage("These are too many steps", facts, ["combine some of them"])
    return plan


def find_step(run: Run, name: str) -> Step | None:
    return next((step for step in run.steps if step.name == name), None)


def is_through(run: Run) -> bool:
    """Return True if the run has a plan, and all its steps are completed."""
    planned = any(step.planned for step in run.steps)
    return planned and all(step.status == COMPLETED for step in run.steps)


def left_behind(run: Run, last: str) -> list[str]:
    """Return the uncompleted steps, if `last` is the end of the plan."""
    planned = [step.name for step in run.steps if step.planned]
    return [step.name for step in run.steps if step.status != COMPLETED] if planned[-1:] == [last] else []


def step_lines(run: Run) -> Iterator[str]:
    """Yield the progress of a run in a few lines; nothing if it has no steps."""
    if not run.steps:
        return
    done = sum(step.status == COMPLETED for step in run.steps)
    yield f"{done} of {len(run.steps)} steps completed"
    for step in run.steps:
        if step.status == ACTIVE:
            yield f"active: {one_line(step.name, 120)}{_by(step)}"
        elif step.status == FAILED:
            yield f"failed: {one_line(step.name, 120)}{_by(step)}: {one_line(step.error or 'no reason given', 200)}"
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
        step.started = step.started or event.time  # its end was reported before its start


def _ended(run: Run, event: Event, body: Body) -> None:
    step = _step(run, body.get("name"))
    outcome = FAILED if event.kind == "step.failed" else COMPLETED
    if step is None or step.status == outcome or (step.ended and event.time < step.ended):
        return
    step.status, step.ended = outcome, event.time
    step.error = (text_of(body.get("error")) or None) if outcome == FAILED else None


def _step(run: Run, name: object) -> Step | None:
    """Return the step of a name, added if unknown; None without a name, or at the limit."""
    text = text_of(name)
    found = find_step(run, text)
    if found is None and text and len(run.steps) < MOST_STEPS:
        found = Step(text)
        run.steps.append(found)
    return found


# Agents

IN_PROGRESS, COMPLETE = "in_progress", "complete"
TYPES = ("code", "test", "doc", "review", "check", "arch", "plan")
TYPE = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MOST_WORKERS = 10_000  # agents of a run
WIDTH = 200  # characters of an id or task


def checked_type(type: str) -> str:
    """Return the type of an agent if it fits into an id."""
    if not TYPE.fullmatch(type):
        facts = [("type", one_line(type, 60))]
        raise WrongUsage("An agent's type is a short word in small letters", facts, [f"such as {', '.join(TYPES)}"])
    return type


def next_id(run: Run, type: str) -> str:
    """Return the next free id: `code-1`, `code-2`."""
    numbers = [worker.id.removeprefix(f"{type}-") for worker in run.workers if worker.id.startswith(f"{type}-")]
    return f"{type}-{1 + max((int(number) for number in numbers if number.isdecimal() and len(number) < 9), default=0)}"


def find_worker(run: Run, id: str) -> Worker | None:
    return next((worker for worker in run.workers if worker.id == id), None)


def get_worker(run: Run, id: str) -> Worker:
    if found := find_worker(run, id):
        return found
    known = ", ".join(worker.id for worker in run.workers[-10:]) or "none"
    raise NotFound(f'There is no agent "{one_line(id, 60)}"', [("known", known)], ["`holdfast agent list` lists them"])


def find_by_key(run: Run, key: str) -> Worker | None:
    return next((worker for worker in run.workers if key and worker.key == key), None)


def progress_of(run: Run) -> int | None:
    """Return the progress in per cent: the mean of the agents, or else the share of completed tasks.

    An agent without a report counts as 0. None if there are neither agents nor tasks.
    """
    if run.workers:
        done = [100 if worker.status == COMPLETE else worker.progress or 0 for worker in run.workers]
        return round(sum(done) / len(done))
    if run.tasks:
        return round(100 * sum(task.done is not None for task in run.tasks) / len(run.tasks))
    return None


def worker_lines(run: Run) -> Iterator[str]:
    """Yield a line per agent, those at work first, then the newest."""
    newest = run.workers[::-1]
    for worker in sorted(newest, key=lambda worker: worker.status != IN_PROGRESS):
        far = f" ({worker.progress or 0} %)" if worker.status == IN_PROGRESS else ""
        outcome = worker.result or worker.error
        yield f"{worker.id} {worker.status}{far}: {worker.task}{f': {outcome}' if outcome else ''}"


def _worker_started(run: Run, event: Event, body: Body) -> None:
    id, key = text_of(body.get("entry")), text_of(body.get("key")) or None
    if not id or find_worker(run, id) or (key and find_by_key(run, key)):
        return
    type = text_of(body.get("type")) or id.rpartition("-")[0]
    run.workers = [*run.workers, Worker(id, type, text_of(body.get("task")), started=event.time, key=key)][
        -MOST_WORKERS:
    ]


def _worker_told(run: Run, event: Event, body: Body) -> None:
    worker = _worker_meant(run, event, body)
    if worker is None:
        return
    if event.kind == "agent.completed":
        worker.status, worker.completed, worker.error = COMPLETE, worker.completed or event.time, None
        worker.result = text_of(body.get("result")) or worker.result
    elif worker.status == IN_PROGRESS and (progress := int_of(body.get("progress"), most=100)) is not None:
        worker.progress = progress
    if (tokens := int_of(body.get("tokens"))) is not None:
        worker.tokens = tokens


def _worker_failed(run: Run, event: Event, body: Body) -> None:
    worker = _worker_meant(run, event, body)
    if worker is not None and worker.status == IN_PROGRESS:
        worker.status, worker.completed = FAILED, event.time
        worker.error = text_of(body.get("error")) or None
        fail(run, event, worker.error or "it failed", worker.id)


def _worker_meant(run: Run, event: Event, body: Body) -> Worker | None:
    found = find_by_key(run, text_of(body.get("key"))) or find_worker(run, text_of(body.get("entry")))
    if found is None and text_of(body.get("entry")):
        _worker_started(run, event, body)
        found = find_worker(run, text_of(body.get("entry")))
    return found


def at_work(run: Run) -> list[Worker]:
    return [worker for worker in run.workers if worker.status == IN_PROGRESS]


def worker_at_work(worker: Worker) -> str:
    """Return an agent at work with task and progress, in one line."""
    task = f": {one_line(worker.task, WIDTH)}" if worker.task else ""
    return f"{one_line(worker.id, WIDTH)}{task} ({worker.progress or 0}%)"


def progress_text(run: Run) -> str:
    done = progress_of(run)
    return "unknown" if done is None else f"{done}% complete"


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "step.planned": _planned,
    "step.started": _started,
    "step.completed": _ended,
    "step.failed": _ended,
    "agent.started": _worker_started,
    "agent.progressed": _worker_told,
    "agent.completed": _worker_told,
    "agent.failed": _worker_failed,
}
