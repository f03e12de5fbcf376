"""The steps of a run: planned or met on the way, each pending, active, completed or failed.

Steps may be told twice, late and in any order; a name that nobody planned is added. What happened later in time wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold.activity import fail, text_of, texts_of, token_count
from holdfast.core.model import Body, Event, Run, Step, Worker
from holdfast.core.text import checked, one_line

MOST_STEPS = 200  # steps that a run can have
NAME_LIMIT = 200

PENDING, ACTIVE, COMPLETED, FAILED = "pending", "active", "completed", "failed"


def checked_name(name: str) -> str:
    """The name of a step as it is kept: on one line, without what nobody sees."""
    return one_line(checked(name, "name of the step", NAME_LIMIT))


def checked_plan(names: Iterable[str]) -> list[str]:
    """The names of planned steps, each once."""
    plan = list(dict.fromkeys(map(checked_name, names)))
    if len(plan) > MOST_STEPS:
        facts = [("steps", len(plan)), ("limit", MOST_STEPS)]
        raise WrongUsage("These are too many steps", facts, ["combine some of them"])
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


def step_lines(run: Run) -> Iterator[str]:
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
    if found is None and text and len(run.steps) < MOST_STEPS:
        found = Step(text)
        run.steps.append(found)
    return found


# Agents

IN_PROGRESS, COMPLETE = "in_progress", "complete"
TYPES = ("code", "test", "doc", "review", "check", "arch", "plan")
TYPE = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MOST_WORKERS = 10_000  # agents that a run keeps
WIDTH = 200  # characters of what is told


def checked_type(type: str) -> str:
    """The type of an agent as it stands in an id."""
    if not TYPE.fullmatch(type):
        facts = [("type", one_line(type, 60))]
        raise WrongUsage("An agent's type is a short word in small letters", facts, [f"such as {', '.join(TYPES)}"])
    return type


def next_id(run: Run, type: str) -> str:
    """`code-1`, `code-2`: the token_count after the highest that is there."""
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
    """The agent that a client knows under a name of its own."""
    return next((worker for worker in run.workers if key and worker.key == key), None)


def progress_of(run: Run) -> int | None:
    """How far a run has come, in per cent: the mean of its agents, or else the share of its tasks that are done.

    An agent that is complete counts as 100, one of which nothing was heard as 0. None where there is neither.
    """
    if run.workers:
        done = [100 if worker.status == COMPLETE else worker.progress or 0 for worker in run.workers]
        return round(sum(done) / len(done))
    if run.tasks:
        return round(100 * sum(task.done is not None for task in run.tasks) / len(run.tasks))
    return None


def worker_lines(run: Run) -> Iterator[str]:
    """The agents in a line each, those at work first and then the newest."""
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


def _worker_progressed(run: Run, event: Event, body: Body) -> None:
    worker, progress = _worker_meant(run, event, body), token_count(body.get("progress"))
    if worker and worker.status == IN_PROGRESS and progress is not None and progress <= 100:
        worker.progress = progress
    if worker:
        _worker_count(worker, body)


def _worker_completed(run: Run, event: Event, body: Body) -> None:
    worker = _worker_meant(run, event, body)
    if worker is None:
        return
    worker.status, worker.completed, worker.error = COMPLETE, worker.completed or event.time, None
    worker.result = text_of(body.get("result")) or worker.result
    _worker_count(worker, body)


def _worker_count(worker: Worker, body: Body) -> None:
    if (tokens := token_count(body.get("tokens"))) is not None:
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
    """The agents that are at work."""
    return [worker for worker in run.workers if worker.status == IN_PROGRESS]


def worker_at_work(worker: Worker) -> str:
    """An agent at work, its task and its progress, in one line."""
    task = f": {one_line(worker.task, WIDTH)}" if worker.task else ""
    return f"{one_line(worker.id, WIDTH)}{task} ({worker.progress or 0}%)"


def progress_text(run: Run) -> str:
    """How far a run has come, as its agents say."""
    done = progress_of(run)
    return "unknown" if done is None else f"{done}% complete"


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "step.planned": _planned,
    "step.started": _started,
    "step.completed": _ended,
    "step.failed": _ended,
    "agent.started": _worker_started,
    "agent.progressed": _worker_progressed,
    "agent.completed": _worker_completed,
    "agent.failed": _worker_failed,
}
