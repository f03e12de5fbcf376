"""Settling a run: where each verb leads from where, what follows from it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused
from holdfast.core.model import Status
from holdfast.operations.lifecycle import Settled
from holdfast.project.workspace import Workspace
from tests.sessions import a_process, as_session, events_of, kill, run_of

Verb = Callable[..., Settled]

OPEN_STATUSES = [Status.CREATED, Status.ACTIVE, Status.PAUSED, Status.INTERRUPTED]
ENDINGS: dict[Status, Verb] = {
    Status.COMPLETED: holdfast.complete,
    Status.FAILED: holdfast.fail,
    Status.ABORTED: holdfast.abort,
    Status.ABANDONED: holdfast.abandon,
}


def bring_to(project: Workspace, status: Status) -> str:
    """A run of this status."""
    run = holdfast.start(project, f"to be {status}").run
    match status:
        case Status.ACTIVE:
            holdfast.note(project, "begun")
        case Status.PAUSED:
            holdfast.pause(project)
        case Status.INTERRUPTED:
            with a_process() as child:
                holdfast.join(project, pid=child.pid)
                kill(child)
            holdfast.sweep(project)
        case _ if status in ENDINGS:
            ENDINGS[status](project)
    assert run_of(project, run.id).status is status
    return run.id


@pytest.mark.parametrize("end", ENDINGS)
def test_open_run_is_brought_to_its_end(project: Workspace, end: Status) -> None:
    for status in OPEN_STATUSES:
        run = bring_to(project, status)
        settled = ENDINGS[end](project, run, reason="because")
        assert (settled.changed, settled.run.status, settled.run.status_reason) == (True, end, "because")


@pytest.mark.parametrize("end", ENDINGS)
def test_end_is_reached_once_and_no_other_end_follows(project: Workspace, end: Status) -> None:
    run = bring_to(project, end)
    before = events_of(project, run)
    again = ENDINGS[end](project, run, reason="again")
    assert (again.changed, again.run.status_reason) == (False, None)
    for verb in (*(verb for other, verb in ENDINGS.items() if other is not end), holdfast.pause):
        with pytest.raises(Refused) as refused:
            verb(project, run)
        assert dict(refused.value.facts)["status"] == end
        assert refused.value.hints
    assert events_of(project, run) == before


def test_run_rests_and_resting_again_is_nothing_to_do(project: Workspace) -> None:
    for status in (Status.CREATED, Status.ACTIVE, Status.INTERRUPTED):
        run = bring_to(project, status)
        assert holdfast.pause(project, run, reason="lunch").changed
        assert not holdfast.pause(project, run, reason="still lunch").changed
        assert run_of(project, run).status_reason == "lunch"


def test_end_of_a_run_ends_its_sessions(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    sessions = {holdfast.join(project).session.id for _ in range(2)}
    holdfast.complete(project)
    found = holdfast.sessions(project, run=run.id).sessions
    assert {session.id for session in found} == sessions
    assert {(session.how, session.fenced) for session in found} == {("ended", False)}
    assert run_of(project, run.id).open_sessions == []


def test_session_can_settle_its_own_run(project: Workspace) -> None:
    holdfast.start(project, "goal")
    session = holdfast.join(project).session
    with as_session(project, session.id) as mine:
        assert holdfast.complete(mine).run.status is Status.COMPLETED
    assert run_of(project).open_sessions == []


def test_pause_leaves_sessions_and_worktree_as_they_are(project: Workspace) -> None:
    holdfast.start(project, "goal")
    session = holdfast.join(project).session
    holdfast.pause(project)
    assert run_of(project).open_sessions == [session.id]


def test_end_of_another_run_leaves_the_pointer_of_this_one(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    second = holdfast.start(project, "second").run
    holdfast.abandon(project, first.id)
    assert run_of(project).id == second.id


def test_without_a_run_there_is_nothing_to_settle(project: Workspace) -> None:
    for verb in (holdfast.pause, *ENDINGS.values()):
        with pytest.raises(NotFound, match="No run"):
            verb(project)


def test_last_run_is_meant_after_it_has_ended(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    holdfast.complete(project)
    assert holdfast.note(project, "an afterthought").run == run.id
    assert run_of(project).status is Status.COMPLETED
