"""The schema of the orchestrator's session file: every earlier form is read, and schema 1.0 is written.

Unknown members of a file are kept. Nothing here touches a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct, field, to_builtins

from holdfast.core.fold import steps
from holdfast.core.fold.activity import UNTOLD
from holdfast.core.model import Body, Run, Status, Worker, int_of
from holdfast.core.text import one_line, parse_time, stamp
from holdfast.layouts.json_file import object_of
from holdfast.layouts.results import Mode

VERSION = "1.0"
MAJOR = VERSION.partition(".")[0]  # files of another one are not read
MODES = {  # agents at once, per cent at which to compress, verbosity
    "default": Mode(2, 70, "normal"),
    "debug": Mode(1, 90, "verbose"),
    "optimize": Mode(4, 60, "minimal"),
    "release": Mode(4, 85, "full report"),
}
STATUSES = {
    "created": Status.CREATED,
    "in_progress": Status.ACTIVE,
    "running": Status.ACTIVE,
    "paused": Status.PAUSED,
    "complete": Status.COMPLETED,
    "completed": Status.COMPLETED,
    "aborted": Status.ABORTED,
    "abandoned": Status.ABORTED,
    "error": Status.ABORTED,
}
WORDS = {
    Status.CREATED: "created",
    Status.ACTIVE: "in_progress",
    Status.INTERRUPTED: "in_progress",
    Status.PAUSED: "paused",
    Status.COMPLETED: "complete",
    Status.FAILED: "aborted",
    Status.ABORTED: "aborted",
    Status.ABANDONED: "aborted",
}
WORKING = {
    "complete": steps.COMPLETE,
    "completed": steps.COMPLETE,
    "failed": steps.FAILED,
    "error": steps.FAILED,
    "timeout": steps.FAILED,
}
MEMBERS = (
    *("schema_version", "session_id", "created", "created_at", "started", "goal", "mode", "status", "agents"),
    *("completed_work", "pending_tasks", "next_actions", "decisions_made", "context_usage", "errors"),
)
INNER = frozenset({"status", "started"})  # agents have these members too
LEGACY = frozenset({"started", "created_at", "updated_at", "next_actions", "progress"})  # at the root
LEGACY_OF_AGENTS = frozenset({"started_at", "completed_at", "output_summary", "result", "duration_seconds"})
COMING_AND_GOING = ("progress", "completed", "error")  # members of an agent that depend on its status
LEGACY_OF_DECISIONS = frozenset({"chosen", "reasoning"})
LONGEST, MANY = 4_000, 10_000  # characters of a text, entries of a list


class Incompatible(Exception):
    """A file of another major version, which is reported and never written or moved."""

    def __init__(self, version: object) -> None:
        super().__init__(f"schema_version {one_line(str(version), 40)} is not {VERSION}")


class Finished(Struct, frozen=True):
    task: str
    outcome: str = ""
    files: tuple[str, ...] = ()


class Choice(Struct, frozen=True):
    decision: str
    rationale: str = ""
    timestamp: str = ""


class Met(Struct, frozen=True):
    error: str
    agent: str | None = None
    timestamp: str = ""


class State(Struct):
    """A session file of any version, in the terms of schema 1.0."""

    session_id: str
    goal: str = ""
    mode: str = "default"
    status: Status = Status.CREATED
    created: str = ""
    updated: str = ""
    agents: list[Worker] = field(default_factory=list)
    completed: list[Finished] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    decisions: list[Choice] = field(default_factory=list)
    errors: list[Met] = field(default_factory=list)
    tokens: int | None = None
    compressed: str | None = None


def read_state(value: Body) -> State:
    """Parse a file, or raise Incompatible for another major version."""
    _check_version(value.get("schema_version"))
    used = object_of(value.get("context_usage"))
    mode, pending = _text(value.get("mode")), value.get("pending_tasks") or value.get("next_actions")
    return State(
        session_id=_text(value.get("session_id")),
        goal=_text(value.get("goal")),
        mode=mode if mode in MODES else "default",
        status=STATUSES.get(_text(value.get("status")).lower(), Status.ACTIVE),
        created=_first(value, "created", "created_at", "started"),
        updated=_first(value, "updated", "updated_at"),
        agents=list(_agents(value.get("agents"))),
        completed=[done for item in _list(value.get("completed_work")) if (done := _finished(item))],
        pending=[text for item in _list(pending) if (text := _text(item))],
        decisions=[made for item in _list(value.get("decisions_made")) if (made := _choice(item))],
        errors=[met for item in _list(value.get("errors")) if (met := _met(item))],
        tokens=int_of(used.get("estimated_tokens")),
        compressed=_text(used.get("last_compression")) or None,
    )


def _check_version(version: object) -> None:
    if version is None:
        return
    major = str(version).partition(".")[0]
    if isinstance(version, bool) or not isinstance(version, (str, int, float)) or major != MAJOR:
        raise Incompatible(version)


def is_legacy(value: Body) -> bool:
    """Return whether a file has members of an earlier schema, so that it is written as a whole."""
    return value.get("schema_version") is None or not LEGACY.isdisjoint(value)


def _agents(items: object) -> Iterator[Worker]:
    seen: set[str] = set()
    for item in _list(items):
        id = _text(item.get("id")) if isinstance(item, dict) else ""
        if not id or id in seen:
            continue
        seen.add(id)
        yield Worker(
            id=id,
            type=_text(item.get("type")) or id.rpartition("-")[0] or id,
            task=_text(item.get("task")),
            status=WORKING.get(_text(item.get("status")), steps.IN_PROGRESS),
            started=parse_time(_first(item, "started", "started_at")),
            completed=parse_time(_first(item, "completed", "completed_at")),
            progress=_percent(item.get("progress")),
            result=_first(item, "result_summary", "output_summary") or None,
            tokens=int_of(item.get("context_tokens")),
            error=_text(item.get("error")) or _text(object_of(item.get("error")).get("message")) or None,
        )


def _percent(value: object) -> int | None:
    """A percentage; a fraction up to 1 is one of 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 100:
        return None
    return round(value * 100) if isinstance(value, float) and value <= 1 else round(value)


def _finished(item: object) -> Finished | None:
    if isinstance(item, dict):
        task = _text(item.get("task"))
        files = tuple(text for file in _list(item.get("files")) if (text := _text(file)))
        return Finished(task, _text(item.get("outcome")), files) if task else None
    text = _text(item).removeprefix("✅").strip()
    return Finished(text) if text else None


def _choice(item: object) -> Choice | None:
    if not isinstance(item, dict):
        return Choice(_text(item)) if _text(item) else None
    decision = _first(item, "decision", "chosen")
    return Choice(decision, _first(item, "rationale", "reasoning"), _text(item.get("timestamp"))) if decision else None


def _met(item: object) -> Met | None:
    if not isinstance(item, dict):
        return Met(_text(item)) if _text(item) else None
    error = _first(item, "error", "message")
    return Met(error, _text(item.get("agent")) or None, _text(item.get("timestamp"))) if error else None


def _first(item: Body, *names: str) -> str:
    return next((text for name in names if (text := _text(item.get(name)))), "")


def _text(value: object) -> str:
    return value.strip()[:LONGEST] if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value[:MANY] if isinstance(value, list) else []


def state_of(run: Run) -> State:
    return State(
        session_id=run.id,
        goal=run.goal,
        mode=run.mode or "default",
        status=STATUSES[WORDS[run.status]],
        created=_when(run.created),
        agents=run.workers,
        completed=[Finished(task.text, task.outcome or "", tuple(task.files)) for task in run.tasks if task.done],
        pending=[task.text for task in run.open_tasks],
        decisions=[Choice(made.text, made.because or "", _when(made.time)) for made in run.standing_decisions],
        errors=[Met(met.text, met.agent, _when(met.time)) for met in run.errors],
        tokens=run.context_tokens,
        compressed=_when(run.compacted) or None,
    )


def render(run: Run, before: Body, project: Body, updated: datetime) -> Body:
    """The members of schema 1.0 for a run; unknown members of the file's entries are kept."""
    state, tokens = state_of(run), run.context_tokens or 0
    completed = [{**to_builtins(done), "files": list(done.files)} for done in state.completed]
    renamed = [  # decisions with the key of schema 1.0, by which they are matched
        {**item, "decision": item.get("decision", item.get("chosen"))} if isinstance(item, dict) else item
        for item in _list(before.get("decisions_made"))
    ]
    return {
        "schema_version": VERSION,
        "session_id": run.id,
        "created": state.created,
        "updated": stamp(updated),
        "project": {**object_of(before.get("project")), **project},
        "goal": run.goal,
        "mode": state.mode,
        "status": WORDS[run.status],
        "agents": _kept(before.get("agents"), "id", map(_agent, run.workers), LEGACY_OF_AGENTS),
        "completed_work": _kept(before.get("completed_work"), "task", completed),
        "pending_tasks": state.pending,
        "decisions_made": _kept(renamed, "decision", map(to_builtins, state.decisions), LEGACY_OF_DECISIONS),
        "context_usage": {
            **object_of(before.get("context_usage")),
            "estimated_tokens": tokens,
            "percentage": round(100 * tokens / (run.context_window or UNTOLD)),
            "last_compression": state.compressed,
        },
        "errors": [{"timestamp": met.timestamp, "agent": met.agent, "error": met.error} for met in state.errors],
    }


def _kept(before: object, key: str, ours: Iterable[Body], dropped: frozenset[str] = frozenset()) -> list[Body]:
    """Our entries, each with the unknown members of the file's entry of the same name."""
    theirs = {item[key]: item for item in _list(before) if isinstance(item, dict) and isinstance(item.get(key), str)}
    found = []
    for entry in ours:
        gone = dropped | {name for name in COMING_AND_GOING if name not in entry}
        other = {name: value for name, value in theirs.get(entry[key], {}).items() if name not in gone}
        if isinstance(other.get("error"), dict) and other["error"].get("message") == entry.get("error"):
            entry = {**entry, "error": other["error"]}  # it has details that the journal lacks
        found.append({**other, **entry})
    return found


def _agent(worker: Worker) -> Body:
    found: Body = {"id": worker.id, "type": worker.type, "task": worker.task, "status": worker.status}
    found["started"] = _when(worker.started)
    if worker.status == steps.IN_PROGRESS:
        found["progress"] = worker.progress or 0
    else:
        found["completed"] = _when(worker.completed)
    if worker.result:
        found["result_summary"] = worker.result
    if worker.error:
        found["error"] = worker.error
    return found | ({"context_tokens": worker.tokens} if worker.tokens is not None else {})


def _when(time: datetime | None) -> str:
    return stamp(time) if time else ""
