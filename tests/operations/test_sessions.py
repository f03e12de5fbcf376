"""Sessions: joining a run, taking it over, leaving it; and that nobody who was taken over writes any more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import holdfast
from holdfast.core.errors import Ambiguous, Fenced, NotFound, Refused
from holdfast.core.model import Run, Status
from holdfast.operations.show import SessionShown
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.hook_calls import keep_by_hand
from tests.sessions import a_process, a_worktree, as_session, events_of, kill, kinds_of, run_of

# joining


def test_session_without_a_process_is_opened_and_never_found_dead(project: Workspace) -> None:
    holdfast.start(project, "goal")
    joined = holdfast.join(project, agent="robot")
    assert (joined.session.process, joined.session.agent, joined.session.is_open) == (None, "robot", True)
    assert joined.run.status is Status.ACTIVE
    assert holdfast.sweep(project).interrupted == []
    assert run_of(project).open_sessions == [joined.session.id]


def test_session_knows_where_it_was_opened(project: Workspace) -> None:
    holdfast.start(project, "goal")
    environment = holdfast.join(project).session.environment
    assert environment is not None
    assert (environment.host, environment.directory) == (os.uname().nodename, os.getcwd())


@pytest.mark.parametrize("settle", [holdfast.complete, holdfast.fail, holdfast.abort, holdfast.abandon])
def test_run_that_has_ended_cannot_be_joined(project: Workspace, settle: Callable[[Workspace], object]) -> None:
    holdfast.start(project, "goal")
    settle(project)
    with pytest.raises(Refused, match="cannot resume"):
        holdfast.join(project)
    assert holdfast.sessions(project).sessions == []


def test_paused_run_goes_on_when_it_is_joined(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    holdfast.pause(project)
    assert holdfast.join(project).run.status is Status.ACTIVE
    assert kinds_of(project, run.id) == ["run.started", "run.paused", "run.resumed", "session.opened"]


def test_interrupted_run_goes_on_when_it_is_joined(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        kill(child)
    assert run_of(project).status is Status.INTERRUPTED
    assert holdfast.join(project).run.status is Status.ACTIVE


def test_two_may_work_on_one_run(project: Workspace) -> None:
    holdfast.start(project, "goal")
    first = holdfast.join(project).session
    second = holdfast.join(project)
    assert [session.id for session in second.others] == [first.id]
    assert second.taken_from == []
    for session in (first, second.session):
        with as_session(project, session.id) as mine:
            holdfast.note(mine, "from both")
    assert [event.session for event in events_of(project)[-2:]] == [first.id, second.session.id]
    assert run_of(project).open_sessions == [first.id, second.session.id]


def test_joining_makes_a_run_the_one_that_is_meant_here(
    project: Workspace, clock: TickingClock, tmp_path: Path
) -> None:
    run = holdfast.start(project, "goal").run
    with a_worktree(project, tmp_path / "tree", clock) as other:
        holdfast.join(other, run.id)
        assert run_of(other).id == run.id
    assert run_of(project).id == run.id


def test_process_that_is_not_there_cannot_join(project: Workspace) -> None:
    holdfast.start(project, "goal")
    with a_process() as child:
        pass
    with pytest.raises(NotFound):
        holdfast.join(project, pid=child.pid)
    assert kinds_of(project) == ["run.started"]


# taking over


def test_taking_over_ends_and_fences_those_who_were_there(project: Workspace) -> None:
    holdfast.start(project, "goal")
    before = [holdfast.join(project).session.id for _ in range(2)]
    taken = holdfast.join(project, take_over=True)
    assert sorted(session.id for session in taken.taken_from) == sorted(before)
    assert taken.others == []
    assert all((session.how, session.fenced) == ("taken_over", True) for session in taken.taken_from)
    assert taken.session.epoch == taken.run.epoch == 1
    assert run_of(project).open_sessions == [taken.session.id]


def test_every_take_over_begins_a_new_epoch(project: Workspace) -> None:
    holdfast.start(project, "goal")
    epochs = [holdfast.join(project, take_over=take_over).session.epoch for take_over in (False, True, False, True)]
    assert epochs == [0, 1, 1, 2]


WRITES: list[Callable[[Workspace], object]] = [
    lambda project: holdfast.note(project, "text"),
    lambda project: holdfast.decide(project, "text"),
    lambda project: holdfast.revoke(project, "d1"),
    lambda project: holdfast.add_task(project, "text"),
    lambda project: holdfast.finish_task(project, "t1"),
    lambda project: holdfast.pin(project, "n1"),
    lambda project: holdfast.forget(project, "3"),
    lambda project: holdfast.rename(project, "text"),
    lambda project: holdfast.tag(project, ("text",)),
    lambda project: holdfast.action(project, "text"),
    lambda project: holdfast.prompt(project, "text"),
    holdfast.pause,
    holdfast.complete,
    holdfast.fail,
    holdfast.abort,
    holdfast.abandon,
]


@pytest.fixture
def busy(project: Workspace) -> Workspace:
    """A run with a decision, a task and a note, so that there is something to change."""
    holdfast.start(project, "goal")
    holdfast.decide(project, "a decision")
    holdfast.note(project, "a note")
    holdfast.add_task(project, "a task")
    return project


@pytest.mark.promise(15)
def test_nothing_of_a_session_that_was_taken_over_is_written_and_it_is_told(busy: Workspace) -> None:
    zombie = holdfast.join(busy).session
    holdfast.join(busy, take_over=True)
    before = events_of(busy)
    with as_session(busy, zombie.id) as its_workspace:
        for write in WRITES:
            with pytest.raises(Fenced) as told:
                write(its_workspace)
            facts = dict(told.value.facts)
            assert (facts["session"], facts["run"]) == (zombie.id, run_of(busy).id)
            assert "taken over" in facts["because"]
            assert any("holdfast join" in hint for hint in told.value.hints)
    assert events_of(busy) == before


@pytest.mark.promise(15)
def test_session_that_was_found_dead_cannot_write_any_more(busy: Workspace) -> None:
    with a_process() as child:
        session = holdfast.join(busy, pid=child.pid).session
        kill(child)
    holdfast.sweep(busy)
    before = events_of(busy)
    with as_session(busy, session.id) as its_workspace, pytest.raises(Fenced, match="may no longer write"):
        holdfast.note(its_workspace, "from beyond")
    assert events_of(busy) == before


@pytest.mark.promise(15)
def test_program_that_was_taken_over_while_it_ran_is_told(busy: Workspace) -> None:
    with a_process() as child, holdfast.open(busy.root) as elsewhere:
        session = holdfast.join(busy, pid=child.pid).session
        busy.session = session.id
        holdfast.join(elsewhere, take_over=True)
        with pytest.raises(Fenced):
            holdfast.note(busy, "still here")
    busy.session = None
    assert run_of(busy).open_sessions != [session.id]


def test_session_that_was_taken_over_can_still_look(busy: Workspace) -> None:
    zombie = holdfast.join(busy).session
    holdfast.join(busy, take_over=True)
    with as_session(busy, zombie.id) as its_workspace:
        assert holdfast.status(its_workspace).run is not None
        assert holdfast.brief(its_workspace).run == run_of(busy).id


def without_counts(run: Run) -> Run:
    """All that a run knows, but not how long its journal is."""
    return msgspec.structs.replace(run, seq=0, updated=None, agents=[])


@pytest.mark.promise(15)
@pytest.mark.parametrize("how", ["taken over", "died"])
def test_late_call_of_a_fenced_session_is_kept_and_changes_nothing(busy: Workspace, how: str) -> None:
    with a_process() as child:
        zombie = holdfast.join(busy, pid=child.pid).session
        if how == "taken over":
            holdfast.join(busy, take_over=True)
        else:
            kill(child)
        before = run_of(busy)
        record = next(found for found in holdfast.sessions(busy).sessions if found.id == zombie.id)
        keep_by_hand(busy.inbox, b'{"late": 1}', env__HOLDFAST_SESSION=zombie.id)
        (event,) = holdfast.log(busy, newest=1).events
        assert (event.kind, event.session, event.body["call"]) == ("call.late", None, {"late": 1})
        assert without_counts(run_of(busy)) == without_counts(before)
        assert next(found for found in holdfast.sessions(busy).sessions if found.id == zombie.id) == record


@pytest.mark.promise(15)
def test_late_call_belongs_to_the_run_of_its_session(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    zombie = holdfast.join(project).session
    taken = holdfast.join(project, take_over=True).session
    holdfast.leave(project, taken.id)
    second = holdfast.start(project, "second").run
    keep_by_hand(project.inbox, env__HOLDFAST_SESSION=zombie.id)
    assert "call.late" not in kinds_of(project, second.id)
    assert kinds_of(project, first.id)[-1] == "call.late"


@pytest.mark.promise(15)
def test_call_of_a_session_that_is_not_fenced_is_its_own(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    session = holdfast.join(project).session
    holdfast.start(project, "second")
    keep_by_hand(project.inbox, env__HOLDFAST_SESSION=session.id)
    (event,) = holdfast.log(project, run=first.id, newest=1).events
    assert (event.kind, event.session) == ("call.kept", session.id)


# leaving


def test_session_is_left_in_good_order_and_its_run_stays(project: Workspace) -> None:
    holdfast.start(project, "goal")
    session = holdfast.join(project).session
    left = holdfast.leave(project, session.id, reason="done for today").session
    assert (left.how, left.reason, left.fenced, left.is_open) == ("ended", "done for today", False, False)
    assert (run_of(project).status, run_of(project).open_sessions) == (Status.ACTIVE, [])


def test_leaving_twice_is_leaving_once(project: Workspace) -> None:
    holdfast.start(project, "goal")
    session = holdfast.join(project).session
    first, second = holdfast.leave(project, session.id), holdfast.leave(project, session.id)
    assert (first.changed, second.changed, second.session) == (True, False, first.session)
    assert kinds_of(project).count("session.ended") == 1


def test_session_can_be_named_by_a_part_of_its_id(project: Workspace) -> None:
    holdfast.start(project, "goal")
    sessions = [holdfast.join(project).session.id for _ in range(2)]
    assert holdfast.leave(project, sessions[0][:-3]).session.id == sessions[0]
    assert holdfast.leave(project, sessions[1][-6:]).session.id == sessions[1]
    with pytest.raises(Ambiguous) as several:
        holdfast.leave(project, "ses-")
    assert sorted(id for _, id in several.value.facts) == sorted(sessions)


def test_session_that_is_not_there_cannot_be_left(project: Workspace) -> None:
    holdfast.start(project, "goal")
    holdfast.join(project)
    for name in ("ses-0000000000", "", "no such", "\udcff", "%", "../.."):
        with pytest.raises(NotFound):
            holdfast.leave(project, name)


# looking at them


def test_session_counts_its_events_and_remembers_the_last(project: Workspace) -> None:
    holdfast.start(project, "goal")
    session = holdfast.join(project).session
    with as_session(project, session.id) as mine:
        holdfast.note(mine, "first")
        holdfast.decide(mine, "second")
    holdfast.note(project, "of nobody")
    shown = holdfast.show(project, session.id)
    assert isinstance(shown, SessionShown)
    assert (shown.session.events, shown.session.last_action) == (2, "decided: second")
    assert [event.kind for event in shown.events] == ["session.opened", "note.added", "decision.made"]
    assert shown.session.last_active == shown.events[-1].time > shown.session.opened


def test_sessions_are_listed_for_a_run_and_for_all(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    ours = holdfast.join(project).session.id
    holdfast.start(project, "second")
    others = [holdfast.join(project).session.id for _ in range(3)]
    assert [found.id for found in holdfast.sessions(project, run=first.id).sessions] == [ours]
    assert [found.id for found in holdfast.sessions(project).sessions] == others[::-1]
    assert [found.id for found in holdfast.sessions(project, every=True).sessions] == [*others[::-1], ours]
    assert [found.id for found in holdfast.sessions(project, every=True, limit=2).sessions] == others[:0:-1]


def test_session_of_the_environment_says_which_run_is_meant(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    session = holdfast.join(project).session
    holdfast.start(project, "second")
    with as_session(project, session.id) as mine:
        assert run_of(mine).id == first.id
