"""Agents of a run: told of in any order, twice, late, or by somebody who makes things up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold import run as fold, steps as crew
from holdfast.core.model import Run, Task, Worker
from tests.strategies import numbered
from tests.tools import NOON, a_run

STARTED = ("run.started", {"goal": "a goal", "layout": "orchestrator", "worktree": "/project"}, None)


def folded(*told: tuple[str, dict[str, Any]]) -> Run:
    return fold.fold("run-0000000000", numbered([STARTED, *((kind, body, None) for kind, body in told)]))


def sent(id: str = "code-1", **body: Any) -> tuple[str, dict[str, Any]]:
    return "agent.started", {"entry": id, "type": "code", "task": "x", **body}


def ended(id: str = "code-1", **body: Any) -> tuple[str, dict[str, Any]]:
    return "agent.completed", {"entry": id, **body}


def failed(id: str = "code-1", **body: Any) -> tuple[str, dict[str, Any]]:
    return "agent.failed", {"entry": id, **body}


def states(run: Run) -> list[tuple[str, str, int | None]]:
    return [(worker.id, worker.status, worker.progress) for worker in run.workers]


@pytest.mark.parametrize(
    ("known", "next"),
    [([], "code-1"), (["code-1"], "code-2"), (["code-7", "code-2"], "code-8"), (["code-x", "test-9"], "code-1"),
     (["code-999999999999"], "code-1"), (["code-reviewer-3"], "code-1")],
)  # fmt: skip
def test_an_agent_gets_the_number_after_the_highest_of_its_type(known: list[str], next: str) -> None:
    assert crew.next_id(a_run(workers=[Worker(id, "code") for id in known]), "code") == next


def test_an_agent_that_is_told_of_twice_is_there_once() -> None:
    assert states(folded(sent(), sent(task="other"))) == [("code-1", "in_progress", None)]
    assert len(folded(sent(key="k"), sent("code-2", key="k")).workers) == 1


def test_one_that_nobody_started_is_added_when_it_is_heard_of() -> None:
    run = folded(ended("test-3", result="green"))
    assert [(one.id, one.type, one.status, one.result) for one in run.workers] == [
        ("test-3", "test", "complete", "green")
    ]


def test_progress_that_comes_after_the_end_changes_nothing_but_the_tokens() -> None:
    run = folded(sent(), ended(tokens=3), ("agent.progressed", {"entry": "code-1", "progress": 10, "tokens": 4}))
    assert [(one.status, one.progress, one.tokens) for one in run.workers] == [("complete", None, 4)]


def test_one_that_failed_may_still_come_to_its_end_and_then_has_no_error() -> None:
    run = folded(sent(), failed(error="red"), ended(result="green"))
    assert [(one.status, one.error, one.result) for one in run.workers] == [("complete", None, "green")]
    assert [(met.text, met.agent) for met in run.errors] == [("red", "code-1")]


def test_one_that_is_complete_does_not_fail_any_more() -> None:
    run = folded(sent(), ended(result="green"), failed(error="red"))
    assert (states(run), run.errors) == ([("code-1", "complete", None)], [])


def test_O17_an_agent_that_fails_leaves_an_error_with_its_name_and_the_time() -> None:
    run = folded(sent(), failed(error="red"), ("error.met", {"text": "full disk"}))
    assert [(met.agent, met.text) for met in run.errors] == [("code-1", "red"), (None, "full disk")]
    assert run.errors[0].time < run.errors[1].time


@pytest.mark.parametrize("progress", [True, -1, 101, "60", 60.0, None, [60]])
def test_progress_that_is_no_per_cent_is_not_believed_and_the_run_can_still_be_stored(progress: Any) -> None:
    run = folded(sent(), ("agent.progressed", {"entry": "code-1", "progress": progress, "tokens": progress}))
    assert [one.progress for one in run.workers] == [None]
    assert msgspec.json.decode(msgspec.json.encode(run), type=Run) == run


@pytest.mark.parametrize(
    ("workers", "done", "pending", "progress"),
    [
        ([("complete", None), ("in_progress", 60)], 0, 9, 80),
        ([("complete", 30)], 0, 0, 100),
        ([("in_progress", None)], 9, 0, 0),
        ([("failed", 50), ("complete", None)], 0, 0, 75),
        ([], 1, 3, 25),
        ([], 3, 0, 100),
        ([], 0, 0, None),
    ],
)
def test_O14_progress_is_the_mean_of_the_agents_or_else_the_share_of_tasks_that_are_done(
    workers: list[tuple[str, int | None]], done: int, pending: int, progress: int | None
) -> None:
    agents = [Worker(f"code-{n}", "code", status=status, progress=far) for n, (status, far) in enumerate(workers)]
    tasks = [Task(f"t{n}", "x", NOON, done=NOON if n < done else None) for n in range(done + pending)]
    assert crew.progress_of(a_run(workers=agents, tasks=tasks)) == progress


def test_O16_an_agent_that_nobody_knows_is_not_found_and_those_known_are_named() -> None:
    run = a_run(workers=[Worker("code-1", "code")])
    with pytest.raises(NotFound, match='There is no agent "code-9"') as error:
        crew.get_worker(run, "code-9")
    assert ("known", "code-1") in error.value.facts


@pytest.mark.parametrize("type", ["", "Code", "co de", "../x", "code\n", "1code", "x" * 41, "ünï"])
def test_a_type_that_could_not_stand_in_an_id_is_refused(type: str) -> None:
    with pytest.raises(WrongUsage):
        crew.checked_type(type)
    assert all(crew.checked_type(known) == known for known in crew.TYPES)
