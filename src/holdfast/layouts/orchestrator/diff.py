"""Three-way merge of the session file: events for the edits of another program.

The file is compared with the version that we wrote last. Facts of the run that are in neither version are newer, and
stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import structs

from holdfast.core.fold import steps
from holdfast.core.fold.activity import UNTOLD
from holdfast.core.model import Body, Draft, Run, Status, Worker
from holdfast.core.text import parse_time
from holdfast.layouts.orchestrator.schema import WORDS, State

MOVES = {
    Status.ACTIVE: "run.resumed",
    Status.PAUSED: "run.paused",
    Status.COMPLETED: "run.completed",
    Status.ABORTED: "run.aborted",
}


def drafts(before: State, after: State, run: Run, now: datetime, *, as_written: bool = False) -> list[Draft]:
    """Return the events by which a run follows an edit of its file.

    With `as_written`, an entry without a time gets that of the file's last update, not the current one: the file is
    read for the first time.
    """
    found: list[Draft] = []
    for part in (_retold, _workers, _tasks, _decided, _erred, _used, _settled):
        found += part(before, after, run)
    written = last_time(after) if as_written else None
    return [_dated(draft, now, written) for draft in found]


def last_time(state: State) -> datetime | None:
    return parse_time(state.updated) or parse_time(state.created)


def known_part(theirs: State, run: Run) -> State:
    """The part of a file that a run knows. As a merge base, it lets an old copy add, but not remove or revert."""
    texts = {task.text for task in run.tasks}
    decided = {(made.text, made.because or "") for made in run.decisions}
    return structs.replace(
        theirs,
        agents=[worker for worker in theirs.agents if steps.find_worker(run, worker.id)],
        completed=[done for done in theirs.completed if done.task in texts],
        pending=[text for text in theirs.pending if text in texts],
        decisions=[made for made in theirs.decisions if (made.decision, made.rationale) in decided],
    )


def _dated(draft: Draft, now: datetime, written: datetime | None) -> Draft:
    """Give a draft the time in the file, unless that is in the future."""
    times = (time for time in (draft.time, written) if time and time <= now)
    return structs.replace(draft, time=next(times, None))


def _retold(before: State, after: State, run: Run) -> Iterator[Draft]:
    if after.goal and after.goal != before.goal:
        yield Draft("goal.changed", {"goal": after.goal})
    if after.mode != before.mode:
        yield Draft("mode.chosen", {"mode": after.mode})


def _workers(before: State, after: State, run: Run) -> Iterator[Draft]:
    known = {worker.id: worker for worker in before.agents}
    for worker in after.agents:
        was, mine = known.get(worker.id), steps.find_worker(run, worker.id)
        if mine is not None and _said(mine) == _said(worker):
            continue
        if was is None and mine is None:
            begun = {"entry": worker.id, "type": worker.type, "task": worker.task}
            yield Draft("agent.started", begun, time=worker.started)
        if worker.status == steps.IN_PROGRESS and _on_its_way(worker) != _on_its_way(was):
            yield Draft("agent.progressed", {"entry": worker.id, **_on_its_way(worker)})
        if worker.status == steps.COMPLETE and (was is None or _said(worker) != _said(was)):
            body = {"entry": worker.id, "result": worker.result, "tokens": worker.tokens}
            yield Draft("agent.completed", body, time=worker.completed)
        if worker.status == steps.FAILED and (was is None or was.status != steps.FAILED):
            yield Draft("agent.failed", {"entry": worker.id, "error": worker.error}, time=worker.completed)


def _said(worker: Worker) -> tuple[object, ...]:
    progress = worker.progress or 0 if worker.status == steps.IN_PROGRESS else None
    return worker.status, progress, worker.result, worker.tokens, worker.error


def _on_its_way(worker: Worker | None) -> Body:
    told = {"progress": worker.progress, "tokens": worker.tokens} if worker else {}
    return {name: value for name, value in told.items() if value is not None}


def _tasks(before: State, after: State, run: Run) -> Iterator[Draft]:
    open_tasks = {task.text: task for task in run.open_tasks}
    finished = {done.task for done in before.completed}
    for done in after.completed:
        if done.task in finished:
            continue
        body = {"outcome": done.outcome or None, "files": list(done.files)}
        if task := open_tasks.pop(done.task, None):
            yield Draft("task.done", {"entry": task.id, **body})
        elif all(known.text != done.task for known in run.tasks):
            yield Draft("task.added", {"text": done.task, "key": f"file: {done.task}"})
            yield Draft("task.done", {"key": f"file: {done.task}", **body})
    ended = {done.task for done in after.completed}
    for text in before.pending:
        if text not in after.pending and text not in ended and text in open_tasks:
            yield Draft("task.dropped", {"entry": open_tasks[text].id})
    for text in dict.fromkeys(after.pending):
        if text not in before.pending and text not in open_tasks:
            yield Draft("task.added", {"text": text})


def _decided(before: State, after: State, run: Run) -> Iterator[Draft]:
    known = {(made.decision, made.rationale) for made in before.decisions}
    ours = {(made.text, made.because or ""): made for made in run.standing_decisions}
    for made in after.decisions:
        if (made.decision, made.rationale) not in known and (made.decision, made.rationale) not in ours:
            body = {"decision": made.decision, "because": made.rationale or None}
            yield Draft("decision.made", body, time=parse_time(made.timestamp))
    now = {(made.decision, made.rationale) for made in after.decisions}
    for pair in known - now:
        if pair in ours:
            yield Draft("decision.revoked", {"entry": ours[pair].id, "because": "it was taken out of the session file"})


def _erred(before: State, after: State, run: Run) -> Iterator[Draft]:
    known = {(met.text, met.agent) for met in run.errors}
    for met in after.errors:
        if met not in before.errors and (met.error, met.agent) not in known:
            yield Draft("error.met", {"text": met.error, "by": met.agent}, time=parse_time(met.timestamp))


def _used(before: State, after: State, run: Run) -> Iterator[Draft]:
    if after.tokens is not None and after.tokens not in (before.tokens, run.context_tokens or 0):
        window = run.context_window or UNTOLD
        yield Draft("context.measured", {"tokens": after.tokens, "window": window, "origin": "told"})
    if after.compressed and after.compressed != before.compressed and parse_time(after.compressed) != run.compacted:
        yield Draft("context.compacted", {"trigger": "told"}, time=parse_time(after.compressed))


def _settled(before: State, after: State, run: Run) -> Iterator[Draft]:
    if after.status is before.status or after.status not in MOVES or WORDS[run.status] == WORDS[after.status]:
        return
    because = {"reason": "the session file says so"}
    if after.status in (Status.COMPLETED, Status.PAUSED) and run.status in (Status.CREATED, Status.PAUSED):
        yield Draft("run.resumed", because)  # no other way leads there
    yield Draft(MOVES[after.status], because)
