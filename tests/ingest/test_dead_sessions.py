"""Noticing who died: at the next command, by evidence, and never somebody who only sleeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

import holdfast
from holdfast.core.model import Status
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_process, as_session, kill, kinds_of, run_of, stop

pytestmark = pytest.mark.promise(14)

NEXT: dict[str, Callable[[Workspace], object]] = {
    "status": holdfast.status,
    "runs": holdfast.runs,
    "show": holdfast.show,
    "log": holdfast.log,
    "brief": holdfast.brief,
    "sessions": holdfast.sessions,
    "sweep": holdfast.sweep,
    "verify": holdfast.verify,
    "note": lambda project: holdfast.note(project, "text"),
    "start": lambda project: holdfast.start(project, "another"),
}


def test_killed_process_is_found_at_the_next_command_whichever_it_is(project: Workspace) -> None:
    for name, command in NEXT.items():
        with a_process() as child:
            started = holdfast.start(project, f"before {name}", pid=child.pid)
            kill(child)
            command(project)
        run = run_of(project, started.run.id)
        assert (run.status, run.evidence) == (Status.INTERRUPTED, f"process {child.pid} is gone"), name
        assert run.open_sessions == []


def test_death_is_written_down_with_its_evidence_and_its_time(project: Workspace) -> None:
    with a_process() as child:
        session = holdfast.start(project, "goal", pid=child.pid, agent="robot").session
        assert session is not None
        with as_session(project, session.id) as mine:
            holdfast.note(mine, "the last words")
        last = run_of(project).updated
        kill(child)
    swept = holdfast.sweep(project)
    run = run_of(project)
    assert swept.interrupted == [run.id]
    (found,) = holdfast.sessions(project).sessions
    assert (found.how, found.reason, found.fenced) == ("died", f"process {child.pid} is gone", True)
    assert found.ended == last
    assert found.last_action == "note: the last words"
    assert kinds_of(project)[-2:] == ["session.ended", "run.interrupted"]


def test_death_is_found_once(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        kill(child)
    first = [holdfast.sweep(project).interrupted for _ in range(3)]
    assert [len(found) for found in first] == [1, 0, 0]
    assert kinds_of(project).count("session.ended") == 1


def test_zombie_is_dead(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        child.kill()
        while not holdfast.sweep(project).interrupted:
            assert child.returncode is None
    assert run_of(project).status is Status.INTERRUPTED


def test_stopped_process_is_alive(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        stop(child)
        assert holdfast.sweep(project).interrupted == []
        assert run_of(project).status is Status.ACTIVE


def test_clocks_and_silence_prove_nothing(project: Workspace, clock: TickingClock) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        for year in (1970, 1999, 2038, 2100):
            clock.time = datetime(year, 3, 30, tzinfo=UTC)
            assert holdfast.sweep(project).interrupted == []
        assert run_of(project).status is Status.ACTIVE


def test_run_goes_on_while_somebody_else_alive_is_on_it(project: Workspace) -> None:
    with a_process() as one, a_process() as other:
        holdfast.start(project, "goal", pid=one.pid)
        second = holdfast.join(project, pid=other.pid).session
        kill(one)
        assert holdfast.sweep(project).interrupted == []
        run = run_of(project)
        assert (run.status, run.open_sessions) == (Status.ACTIVE, [second.id])
        kill(other)
        assert holdfast.sweep(project).interrupted == [run.id]


def test_session_without_a_process_does_not_hide_a_death(project: Workspace) -> None:
    """It is never found dead itself, so it must not keep a run active for ever."""
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        holdfast.join(project)
        kill(child)
    holdfast.sweep(project)
    assert run_of(project).status is Status.INTERRUPTED


def test_death_on_a_run_that_rests_leaves_it_resting(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        holdfast.pause(project)
        kill(child)
    assert holdfast.sweep(project).interrupted == []
    run = run_of(project)
    assert (run.status, run.open_sessions) == (Status.PAUSED, [])


def test_session_that_was_left_is_not_found_dead(project: Workspace) -> None:
    with a_process() as child:
        session = holdfast.start(project, "goal", pid=child.pid).session
        assert session is not None
        holdfast.leave(project, session.id)
        kill(child)
    assert holdfast.sweep(project).interrupted == []
    assert holdfast.sessions(project).sessions[0].how == "ended"


def test_many_deaths_are_found_together(project: Workspace) -> None:
    runs = set()
    for number in range(5):
        with a_process() as child:
            runs.add(holdfast.start(project, f"goal {number}", pid=child.pid).run.id)
    assert set(holdfast.sweep(project).interrupted) <= runs
    assert {run.status for run in holdfast.runs(project).runs} == {Status.INTERRUPTED}
