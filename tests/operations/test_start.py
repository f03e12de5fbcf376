"""Beginning a run: it is the one meant from now on, and the earlier one rests, unless somebody is at work on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Status
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_process, a_worktree, kill, kinds_of, run_of, stop


def test_run_is_created_in_this_worktree_and_meant_from_now_on(project: Workspace) -> None:
    started = holdfast.start(project, "Add retries")
    run = run_of(project)
    assert run.id == started.run.id
    assert (run.goal, run.status, run.layout, run.seq) == ("Add retries", Status.CREATED, "native", 1)
    assert (run.worktree, run.directory) == (".", str(project.root))
    assert (started.session, started.paused, started.resumable) == (None, [], [])


def test_start_makes_the_store_where_there_is_none(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "goal")
        assert workspace.place == repository / ".git" / "holdfast"
        assert holdfast.verify(workspace).problems == []


def test_start_without_a_repository_makes_a_store_that_git_never_sees(tmp_path: Path) -> None:
    with holdfast.open(tmp_path) as workspace:
        holdfast.start(workspace, "goal")
    assert (tmp_path / ".holdfast" / ".gitignore").read_text() == "*\n"
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    status = subprocess.run(["git", "-C", str(tmp_path), "status", "--porcelain"], capture_output=True, check=True)
    assert status.stdout == b""


def test_store_survives_what_agents_do_to_a_worktree(project: Workspace) -> None:
    holdfast.start(project, "goal")
    git = ["git", "-C", str(project.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["clean", "-qfdx"],
        ["reset", "-q", "--hard"],
        ["stash", "-uq"],
    ):
        subprocess.run([*git, *command], check=True, capture_output=True)
    assert run_of(project).goal == "goal"


def test_earlier_run_is_paused_and_can_be_resumed(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    holdfast.note(project, "begun")
    second = holdfast.start(project, "second")
    assert second.paused == [first.id]
    assert [(run.id, run.status) for run in second.resumable] == [(first.id, Status.PAUSED)]
    paused = run_of(project, first.id)
    assert (paused.status, paused.status_reason) == (Status.PAUSED, "another run was started")
    assert run_of(project).id == second.run.id


def test_run_that_rests_already_is_not_paused_again(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    holdfast.pause(project, reason="lunch")
    assert holdfast.start(project, "second").paused == []
    assert run_of(project, first.id).status_reason == "lunch"


def test_run_that_has_ended_is_neither_paused_nor_offered(project: Workspace) -> None:
    holdfast.start(project, "first")
    holdfast.complete(project)
    second = holdfast.start(project, "second")
    assert (second.paused, second.resumable) == ([], [])


@pytest.mark.parametrize("stopped", [False, True])
def test_run_on_which_somebody_alive_works_goes_on(project: Workspace, stopped: bool) -> None:
    with a_process() as child:
        first = holdfast.start(project, "first", pid=child.pid).run
        if stopped:
            stop(child)
        second = holdfast.start(project, "second")
        assert second.paused == []
        assert run_of(project, first.id).status is Status.ACTIVE


def test_run_whose_worker_died_is_interrupted_and_not_paused(project: Workspace) -> None:
    with a_process() as child:
        first = holdfast.start(project, "first", pid=child.pid).run
        kill(child)
        second = holdfast.start(project, "second")
    assert second.paused == []
    assert [(run.id, run.status) for run in second.resumable] == [(first.id, Status.INTERRUPTED)]


def test_session_without_a_process_keeps_no_run_going(project: Workspace) -> None:
    """Nobody knows whether anybody is behind it, so it holds nothing."""
    first = holdfast.start(project, "first").run
    holdfast.join(project)
    assert holdfast.start(project, "second").paused == [first.id]


def test_run_of_another_worktree_goes_on(project: Workspace, clock: TickingClock, tmp_path: Path) -> None:
    holdfast.start(project, "here")
    holdfast.note(project, "begun")
    with a_worktree(project, tmp_path / "tree", clock) as other:
        started = holdfast.start(other, "there")
        assert (started.run.worktree, started.paused, started.resumable) == ("tree", [], [])
        assert run_of(other).goal == "there"
    assert (run_of(project).goal, run_of(project).status) == ("here", Status.ACTIVE)


def test_process_gets_a_session_that_lives_with_it(project: Workspace) -> None:
    with a_process() as child:
        started = holdfast.start(project, "goal", pid=child.pid, agent="robot")
        assert started.session is not None
        assert started.session.process is not None
        assert (started.session.process.pid, started.session.agent) == (child.pid, "robot")
        assert run_of(project).status is Status.ACTIVE
        assert kinds_of(project) == ["run.started", "session.opened"]


def test_program_that_starts_for_itself_works_in_its_session(project: Workspace) -> None:
    started = holdfast.start(project, "goal", pid=os.getpid())
    holdfast.note(project, "mine")
    assert started.session is not None
    assert holdfast.log(project, newest=1).events[0].session == started.session.id


def test_process_that_is_not_there_starts_nothing(project: Workspace) -> None:
    holdfast.start(project, "first")
    with a_process() as child:
        pass
    with pytest.raises(NotFound, match=str(child.pid)):
        holdfast.start(project, "second", pid=child.pid)
    assert [run.goal for run in holdfast.runs(project).runs] == ["first"]
    assert run_of(project).status is Status.CREATED


@pytest.mark.parametrize("goal", ["", " \n\t", "x" * 20_001])
def test_goal_that_says_nothing_or_too_much_is_refused(repository: Path, goal: str) -> None:
    with holdfast.open(repository) as workspace:
        with pytest.raises(WrongUsage):
            holdfast.start(workspace, goal)
        assert not workspace.place.exists()


@pytest.mark.parametrize("goal", ["x" * 20_000, "two\nlines", "\x1b[31mred", "ünïcödé 😀", "-rf", "'; DROP TABLE run"])
def test_any_other_goal_is_kept_as_it_is(project: Workspace, goal: str) -> None:
    holdfast.start(project, goal)
    assert run_of(project).goal == goal


def test_nothing_is_started_while_the_project_is_off(project: Workspace) -> None:
    holdfast.off(project)
    with pytest.raises(Refused, match="off"):
        holdfast.start(project, "goal")
    holdfast.on(project)
    assert holdfast.runs(project).runs == []
