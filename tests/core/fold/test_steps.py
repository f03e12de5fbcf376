"""The steps of a run: whatever is told, in whatever order, adds up to something that can be read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.errors import WrongUsage
from holdfast.core.fold import run as fold, steps
from holdfast.core.model import Event, Run
from tests.strategies import numbered, some_examples
from tests.tools import NOON, an_event

RUN = "run-0000000000"
STARTED = ("run.started", {"goal": "a goal"}, None)
STEPS = ("step.planned", "step.started", "step.completed", "step.failed")
NAMES = st.sampled_from(["design", "code", "", "ünï\x1b"])
BODIES = st.fixed_dictionaries({"name": NAMES, "steps": st.lists(NAMES, max_size=3), "error": st.text(max_size=5)})
TELLINGS: st.SearchStrategy[Any] = st.lists(st.tuples(st.sampled_from(STEPS), BODIES, st.none()), max_size=12)


def told(*events: tuple[str, dict[str, Any]]) -> Run:
    return fold.fold(RUN, numbered([STARTED, *((kind, body, None) for kind, body in events)]))


def states(run: Run) -> list[tuple[str, str]]:
    return [(step.name, step.status) for step in run.steps]


PLAN = ("step.planned", {"steps": ["design", "code"]})


def test_planned_steps_wait_in_their_order() -> None:
    run = told(PLAN)
    assert states(run) == [("design", "pending"), ("code", "pending")]
    assert all(step.planned for step in run.steps)
    assert run.status == "active"


def test_a_step_begins_and_is_completed() -> None:
    run = told(PLAN, ("step.started", {"name": "design", "agent": "architect"}), ("step.completed", {"name": "design"}))
    first = run.steps[0]
    assert (first.status, first.agent, first.error) == ("completed", "architect", None)
    assert first.started
    assert first.ended
    assert first.started < first.ended


def test_a_step_that_nobody_planned_is_added_behind_the_plan() -> None:
    run = told(PLAN, ("step.completed", {"name": "hotfix"}))
    assert states(run)[-1] == ("hotfix", "completed")
    assert not run.steps[-1].planned


def test_a_failed_step_says_why_and_can_begin_again() -> None:
    failed = [("step.started", {"name": "code"}), ("step.failed", {"name": "code", "error": "red"})]
    assert (told(*failed).steps[0].status, told(*failed).steps[0].error) == ("failed", "red")
    again = told(*failed, ("step.started", {"name": "code"})).steps[0]
    assert (again.status, again.error, again.ended) == ("active", None, None)


@pytest.mark.parametrize("kind", STEPS)
def test_what_is_told_twice_counts_once(kind: str) -> None:
    body = {"name": "code", "steps": ["code"], "error": "red", "agent": "coder"}
    once, twice = told((kind, body)), told((kind, body), (kind, body))
    assert once.steps == twice.steps


def test_a_beginning_that_is_told_after_its_end_does_not_begin_it_again() -> None:
    late = NOON - timedelta(seconds=9)
    events = [
        an_event("step.completed", {"name": "code"}, 1),
        an_event("step.started", {"name": "code", "agent": "coder"}, 2, time=late),
    ]
    step = fold.fold(RUN, events).steps[0]
    assert (step.status, step.started, step.ended, step.agent) == ("completed", late, NOON, "coder")


def test_a_failure_from_before_its_end_changes_nothing() -> None:
    events = [
        an_event("step.completed", {"name": "code"}, 1),
        an_event("step.failed", {"name": "code", "error": "red"}, 2, time=NOON - timedelta(seconds=9)),
    ]
    assert [(step.status, step.error) for step in fold.fold(RUN, events).steps] == [("completed", None)]


def test_a_run_is_through_when_a_plan_and_all_else_is_completed() -> None:
    done = [("step.completed", {"name": name}) for name in ("code", "design")]
    assert not steps.is_through(told())
    assert not steps.is_through(told(PLAN, done[0]))
    assert steps.is_through(told(PLAN, *done))
    assert not steps.is_through(told(PLAN, ("step.started", {"name": "more"}), *done))
    assert not steps.is_through(told(*done)), "nobody planned anything, so nobody knows which is the last"


def test_going_back_brings_the_steps_back_too() -> None:
    run = told(PLAN, ("step.completed", {"name": "design"}), ("run.returned", {"to": 2}))
    assert states(run) == [("design", "pending"), ("code", "pending")]


def test_a_run_has_no_more_steps_than_fit() -> None:
    run = told(("step.planned", {"steps": [str(number) for number in range(steps.MOST_STEPS + 50)]}))
    assert len(run.steps) == steps.MOST_STEPS
    with pytest.raises(WrongUsage, match="too many"):
        steps.checked_plan(map(str, range(steps.MOST_STEPS + 1)))


def test_names_are_kept_on_one_line_and_once() -> None:
    assert steps.checked_plan(["a\nb", "a b", " c\x1b "]) == ["a b", "c"]
    for name in ("", " \n", "\x1b", "x" * 201):
        with pytest.raises(WrongUsage):
            steps.checked_name(name)


def test_how_far_a_run_has_come_is_told_in_a_few_lines() -> None:
    assert list(steps.step_lines(told())) == []
    run = told(
        ("step.planned", {"steps": ["a", "b", "c", "d", "e"]}),
        ("step.completed", {"name": "a"}),
        ("step.started", {"name": "b", "agent": "tester"}),
        ("step.failed", {"name": "c", "error": "red\x1b[2J"}),
    )
    assert list(steps.step_lines(run)) == [
        "1 of 5 steps completed",
        "active: b (tester)",
        "failed: c: red[2J",
        "next: d",
    ]


@some_examples
@given(TELLINGS.map(numbered), st.randoms())
def test_steps_told_in_any_order_have_one_name_each_and_a_known_state(events: list[Event], chance: Any) -> None:
    chance.shuffle(events)
    run = fold.fold(RUN, events)
    names = [step.name for step in run.steps]
    assert len(set(names)) == len(names)
    assert "" not in names
    assert {step.status for step in run.steps} <= {"pending", "active", "completed", "failed"}
    assert all(step.ended is None for step in run.steps if step.status in ("pending", "active"))
