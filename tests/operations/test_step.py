"""Steps of a run: planned with its start, begun, completed, failed; the last one of a plan completes the run."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Status
from holdfast.project.workspace import Workspace
from tests.sessions import events_of, kinds_of, run_of


@pytest.fixture
def planned(project: Workspace) -> Workspace:
    holdfast.start(project, "goal", steps=("design", "code", "test"))
    return project


def states(project: Workspace) -> dict[str, str]:
    return {step.name: step.status for step in holdfast.list_steps(project).steps}


def test_a_plan_is_made_with_the_run(planned: Workspace) -> None:
    assert states(planned) == {"design": "pending", "code": "pending", "test": "pending"}
    assert [step.name for step in run_of(planned).steps] == ["design", "code", "test"]


def test_a_run_without_a_plan_has_no_steps(project: Workspace) -> None:
    holdfast.start(project, "goal")
    assert holdfast.list_steps(project).steps == []
    assert kinds_of(project) == ["run.started"]


def test_the_last_step_completed_completes_the_run_and_ends_its_sessions(planned: Workspace) -> None:
    run = run_of(planned).id
    session = holdfast.join(planned, agent="robot").session
    for name in ("test", "design"):
        assert not holdfast.complete_step(planned, name).completed
    holdfast.start_step(planned, "code", agent="coder")
    last = holdfast.complete_step(planned, "code")
    assert (last.completed, last.step.agent) == (True, "coder")
    shown = run_of(planned, run)
    assert (shown.status, shown.status_reason) == (Status.COMPLETED, "all steps are completed")
    assert not [found for found in holdfast.sessions(planned, run=run).sessions if found.is_open]
    assert session.is_open


def test_completing_a_step_twice_is_nothing_to_do_and_means_no_other_run(project: Workspace) -> None:
    earlier = holdfast.start(project, "earlier").run.id
    run = holdfast.start(project, "goal", steps=("code", "test")).run.id
    for name in ("test", "code"):
        holdfast.complete_step(project, name)
    again = holdfast.complete_step(project, "test")
    assert (again.run, again.changed, again.completed) == (run, False, False)
    assert kinds_of(project, run).count("step.completed") == 2
    assert run_of(project, earlier).steps == []


def test_beginning_twice_is_nothing_to_do_and_another_agent_is_something(planned: Workspace) -> None:
    assert holdfast.start_step(planned, "code").changed
    assert not holdfast.start_step(planned, "code").changed
    assert holdfast.start_step(planned, "code", agent="coder").changed
    assert not holdfast.start_step(planned, "code", agent="coder").changed
    assert not holdfast.start_step(planned, "code").changed


def test_a_failed_step_leaves_the_run_open(planned: Workspace) -> None:
    failed = holdfast.fail_step(planned, "code", error="red")
    assert (failed.step.status, failed.step.error, failed.changed) == ("failed", "red", True)
    assert not holdfast.fail_step(planned, "code", error="red").changed
    assert run_of(planned).status is Status.ACTIVE
    for name in ("design", "test"):
        assert not holdfast.complete_step(planned, name).completed
    assert holdfast.complete_step(planned, "code").completed


def test_steps_without_a_plan_are_added_and_complete_nothing(project: Workspace) -> None:
    holdfast.start(project, "goal")
    assert not holdfast.complete_step(project, "hotfix").completed
    assert states(project) == {"hotfix": "completed"}
    assert run_of(project).status is Status.ACTIVE


def test_a_step_wakes_a_run_that_rests(planned: Workspace) -> None:
    holdfast.pause(planned)
    holdfast.start_step(planned, "code")
    assert run_of(planned).status is Status.ACTIVE


def test_what_has_ended_takes_no_more_steps(planned: Workspace) -> None:
    run = run_of(planned).id
    holdfast.abort(planned)
    before = len(events_of(planned, run))
    for act in (holdfast.start_step, holdfast.complete_step):
        with pytest.raises(Refused):
            act(planned, "code", run=run)
    with pytest.raises(Refused):
        holdfast.fail_step(planned, "code", error="red", run=run)
    assert len(events_of(planned, run)) == before


def test_a_name_is_one_line_that_can_be_seen(planned: Workspace) -> None:
    assert holdfast.start_step(planned, " co\x1bde\u202e ").step.name == "code"
    assert holdfast.start_step(planned, "lone \udcff").step.name == "lone"
    for name in ("", " ", "\x1b", "x" * 201):
        with pytest.raises(WrongUsage):
            holdfast.start_step(planned, name)
    with pytest.raises(WrongUsage):
        holdfast.fail_step(planned, "code", error="")


def test_there_is_an_end_to_steps(project: Workspace) -> None:
    holdfast.start(project, "goal", steps=[str(number) for number in range(200)])
    with pytest.raises(WrongUsage, match="maximum number of steps"):
        holdfast.start_step(project, "one more")
    assert kinds_of(project) == ["run.started", "step.planned"]


def test_without_a_run_there_are_no_steps(project: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.list_steps(project)


def test_a_run_is_found_by_what_was_planned(planned: Workspace) -> None:
    assert [run.id for run in holdfast.runs(planned, search="design").runs] == [run_of(planned).id]
