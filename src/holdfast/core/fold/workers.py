"""The agents that an orchestrator sends out: each started, perhaps on its way, then complete or failed.

They may be told of twice, late and in any order. One that nobody started is added when it is heard of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold.activity import fail, text_of
from holdfast.core.fold.usage import number
from holdfast.core.model import Body, Event, Run, Worker
from holdfast.core.text import one_line

IN_PROGRESS, COMPLETE, FAILED = "in_progress", "complete", "failed"
TYPES = ("code", "test", "doc", "review", "check", "arch", "plan")
TYPE = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MOST = 10_000  # agents that a run keeps
WIDTH = 200  # characters of what is told


def checked_type(type: str) -> str:
    """The type of an agent as it stands in an id."""
    if not TYPE.fullmatch(type):
        facts = [("type", one_line(type, 60))]
        raise WrongUsage("An agent's type is a short word in small letters", facts, [f"such as {', '.join(TYPES)}"])
    return type


def next_id(run: Run, type: str) -> str:
    """`code-1`, `code-2`: the number after the highest that is there."""
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


def told(run: Run) -> Iterator[str]:
    """The agents in a line each, those at work first and then the newest."""
    newest = run.workers[::-1]
    for worker in sorted(newest, key=lambda worker: worker.status != IN_PROGRESS):
        far = f" ({worker.progress or 0} %)" if worker.status == IN_PROGRESS else ""
        outcome = worker.result or worker.error
        yield f"{worker.id} {worker.status}{far}: {worker.task}{f': {outcome}' if outcome else ''}"


def _started(run: Run, event: Event, body: Body) -> None:
    id, key = text_of(body.get("entry")), text_of(body.get("key")) or None
    if not id or find_worker(run, id) or (key and find_by_key(run, key)):
        return
    type = text_of(body.get("type")) or id.rpartition("-")[0]
    run.workers = [*run.workers, Worker(id, type, text_of(body.get("task")), started=event.time, key=key)][-MOST:]


def _progressed(run: Run, event: Event, body: Body) -> None:
    worker, progress = _meant(run, event, body), number(body.get("progress"))
    if worker and worker.status == IN_PROGRESS and progress is not None and progress <= 100:
        worker.progress = progress
    if worker:
        _count(worker, body)


def _completed(run: Run, event: Event, body: Body) -> None:
    worker = _meant(run, event, body)
    if worker is None:
        return
    worker.status, worker.completed, worker.error = COMPLETE, worker.completed or event.time, None
    worker.result = text_of(body.get("result")) or worker.result
    _count(worker, body)


def _count(worker: Worker, body: Body) -> None:
    if (tokens := number(body.get("tokens"))) is not None:
        worker.tokens = tokens


def _failed(run: Run, event: Event, body: Body) -> None:
    worker = _meant(run, event, body)
    if worker is not None and worker.status == IN_PROGRESS:
        worker.status, worker.completed = FAILED, event.time
        worker.error = text_of(body.get("error")) or None
        fail(run, event, worker.error or "it failed", worker.id)


def _meant(run: Run, event: Event, body: Body) -> Worker | None:
    found = find_by_key(run, text_of(body.get("key"))) or find_worker(run, text_of(body.get("entry")))
    if found is None and text_of(body.get("entry")):
        _started(run, event, body)
        found = find_worker(run, text_of(body.get("entry")))
    return found


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "agent.started": _started,
    "agent.progressed": _progressed,
    "agent.completed": _completed,
    "agent.failed": _failed,
}


def at_work(run: Run) -> list[Worker]:
    """The agents that are at work."""
    return [worker for worker in run.workers if worker.status == IN_PROGRESS]


def told_at_work(worker: Worker) -> str:
    """An agent at work, its task and its progress, in one line."""
    task = f": {one_line(worker.task, WIDTH)}" if worker.task else ""
    return f"{one_line(worker.id, WIDTH)}{task} ({worker.progress or 0}%)"


def told_progress(run: Run) -> str:
    """How far a run has come, as its agents say."""
    done = progress_of(run)
    return "unknown" if done is None else f"{done}% complete"
