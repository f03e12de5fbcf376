"""Three ways, by id: what somebody changed in the file, against what we last wrote, in a run that has gone on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from holdfast.core.model import Decision, Run, Status, Task, Worker
from holdfast.layouts.orchestrator.diff import drafts
from holdfast.layouts.orchestrator.schema import Choice, Finished, Met, State, state_of
from tests.tools import NOON, a_run

LATER = NOON + timedelta(hours=1)


def a_session(**changes: Any) -> Run:
    return a_run(
        **{
            "id": "2026-01-01-abc123",
            "mode": "default",
            "status": Status.ACTIVE,
            "workers": [Worker("code-1", "code", "Write", started=NOON, progress=10)],
            "tasks": [Task("t1", "one", NOON), Task("t2", "two", NOON), Task("t3", "three", NOON, done=NOON)],
            "decisions": [Decision("d1", "Use SQLite", NOON, "one file")],
            **changes,
        }
    )


def changed(**changes: Any) -> State:
    return structs.replace(state_of(a_session()), **changes)


def followed(after: State, run: Run | None = None) -> list[tuple[str, dict[str, Any]]]:
    found = drafts(state_of(a_session()), after, run or a_session(), LATER)
    return [(draft.kind, draft.body) for draft in found]


def test_a_file_that_says_the_same_changes_nothing() -> None:
    assert followed(changed()) == []


def test_what_a_stale_copy_lacks_is_kept() -> None:
    """They read before we added these, and wrote back what they had read."""
    newer = a_session()
    newer.workers.append(Worker("test-1", "test", "Test", started=NOON))
    newer.tasks.append(Task("t4", "four", NOON))
    newer.decisions.append(Decision("d2", "Use git", NOON))
    assert followed(changed(goal="another goal"), newer) == [("goal.changed", {"goal": "another goal"})]


ONE = Worker("code-1", "code", "Write", started=NOON, progress=10)
CHANGES: list[tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]] = [
    ({"mode": "debug"}, [("mode.chosen", {"mode": "debug"})]),
    ({"agents": [structs.replace(ONE, progress=60)]}, [("agent.progressed", {"entry": "code-1", "progress": 60})]),
    (
        {"agents": [structs.replace(ONE, tokens=9)]},
        [("agent.progressed", {"entry": "code-1", "progress": 10, "tokens": 9})],
    ),
    (
        {"agents": [structs.replace(ONE, status="complete", completed=LATER, result="ok", tokens=9)]},
        [("agent.completed", {"entry": "code-1", "result": "ok", "tokens": 9})],
    ),
    (
        {"agents": [structs.replace(ONE, status="failed", error="red")]},
        [("agent.failed", {"entry": "code-1", "error": "red"})],
    ),
    (
        {"agents": [ONE, Worker("doc-1", "doc", "Explain")]},
        [("agent.started", {"entry": "doc-1", "type": "doc", "task": "Explain"})],
    ),
    ({"agents": []}, []),
    ({"pending": ["one", "two", "new"]}, [("task.added", {"text": "new"})]),
    ({"pending": ["one"]}, [("task.dropped", {"entry": "t2"})]),
    (
        {"pending": ["two"], "completed": [Finished("three"), Finished("one", "green", ("a.py",))]},
        [("task.done", {"entry": "t1", "outcome": "green", "files": ["a.py"]})],
    ),
    (
        {"completed": [Finished("three"), Finished("unheard of")]},
        [
            ("task.added", {"text": "unheard of", "key": "file: unheard of"}),
            ("task.done", {"key": "file: unheard of", "outcome": None, "files": []}),
        ],
    ),
    (
        {"decisions": [Choice("Use SQLite", "one file"), Choice("Use git", "it is there")]},
        [("decision.made", {"decision": "Use git", "because": "it is there"})],
    ),
    (
        {"decisions": []},
        [("decision.revoked", {"entry": "d1", "because": "it was taken out of the session file"})],
    ),
    ({"errors": [Met("red", "code-1")]}, [("error.met", {"text": "red", "by": "code-1"})]),
    ({"tokens": 5}, [("context.measured", {"tokens": 5, "window": 128_000, "origin": "told"})]),
    ({"compressed": "2026-01-01T12:30:00Z"}, [("context.compacted", {"trigger": "told"})]),
    ({"status": Status.PAUSED}, [("run.paused", {"reason": "the session file says so"})]),
    ({"status": Status.COMPLETED}, [("run.completed", {"reason": "the session file says so"})]),
    ({"status": Status.ABORTED}, [("run.aborted", {"reason": "the session file says so"})]),
    ({"goal": ""}, []),
]


@pytest.mark.parametrize(("changes", "events"), CHANGES)
def test_a_change_in_the_file_becomes_these_events(
    changes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]
) -> None:
    assert followed(changed(**changes)) == events


def test_what_the_run_did_meanwhile_is_not_done_again() -> None:
    run = a_session(status=Status.PAUSED)
    run.tasks.append(Task("t4", "new", NOON))
    run.decisions.append(Decision("d2", "Use git", NOON, "it is there"))
    after = changed(
        status=Status.PAUSED,
        pending=["one", "two", "new"],
        decisions=[Choice("Use SQLite", "one file"), Choice("Use git", "it is there")],
    )
    assert followed(after, run) == []


def test_O4_a_time_in_the_future_is_not_believed() -> None:
    after = changed(
        decisions=[
            Choice("Use SQLite", "one file"),
            Choice("a", "", "2026-01-01T12:30:00"),
            Choice("b", "", "2999-01-01"),
        ]
    )
    times = [draft.time for draft in drafts(state_of(a_session()), after, a_session(), LATER)]
    assert times == [NOON + timedelta(minutes=30), None]


def test_the_same_task_twice_in_the_file_is_one_task() -> None:
    assert followed(changed(pending=["one", "two", "new", "new"])) == [("task.added", {"text": "new"})]
