"""Choosing the run of a worktree, also one from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused
from holdfast.core.model import Status
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree, kinds_of, run_of


def test_worktree_points_at_the_run_that_was_chosen(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    holdfast.start(project, "second")
    switched = holdfast.switch(project, first.id)
    assert (switched.run.id, switched.moved_from) == (first.id, None)
    assert run_of(project).id == first.id
    assert kinds_of(project) == ["run.started", "run.paused"]


def test_choosing_a_run_does_not_wake_it(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    holdfast.start(project, "second")
    holdfast.switch(project, first.id)
    assert run_of(project).status is Status.PAUSED


def test_run_of_another_worktree_moves_here(project: Workspace, clock: TickingClock, tmp_path: Path) -> None:
    run = holdfast.start(project, "goal").run
    with a_worktree(project, tmp_path / "tree", clock) as other:
        switched = holdfast.switch(other, run.id)
        assert switched.moved_from == str(project.root)
        assert (switched.run.worktree, switched.run.directory) == ("tree", str(tmp_path / "tree"))
        assert run_of(other).id == run.id
    with pytest.raises(NotFound):
        run_of(project)
    assert kinds_of(project, run.id) == ["run.started", "run.moved"]


def test_worktree_that_was_left_keeps_a_pointer_to_another_run(
    project: Workspace, clock: TickingClock, tmp_path: Path
) -> None:
    first = holdfast.start(project, "first").run
    second = holdfast.start(project, "second").run
    with a_worktree(project, tmp_path / "tree", clock) as other:
        holdfast.switch(other, first.id)
    assert run_of(project).id == second.id


@pytest.mark.parametrize("settle", [holdfast.complete, holdfast.fail, holdfast.abort, holdfast.abandon])
def test_run_that_has_ended_cannot_be_chosen(project: Workspace, settle: object) -> None:
    run = holdfast.start(project, "goal").run
    assert callable(settle)
    settle(project)
    with pytest.raises(Refused, match="cannot resume"):
        holdfast.switch(project, run.id)


def test_run_that_is_not_there_cannot_be_chosen(project: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.switch(project, "run-0000000000")


def test_project_that_was_moved_keeps_its_runs(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "goal").run
    moved = repository.rename(repository.with_name("moved"))
    with holdfast.open(moved) as workspace:
        assert run_of(workspace).id == run.id
        assert holdfast.switch(workspace, run.id).moved_from is None
        assert holdfast.verify(workspace).problems == []
