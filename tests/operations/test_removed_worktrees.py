"""Runs and checkpoints of a worktree or a branch that is not there any more: all of it stays reachable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Checkpoint
from holdfast.operations.show import RunShown
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.tools import Command
from tests.worktrees import commit, git, put, take


def worked_in(project: Workspace, path: Path, clock: TickingClock) -> tuple[str, Checkpoint]:
    """A run with a checkpoint in a linked worktree."""
    with a_worktree(project, path, clock) as linked:
        run = holdfast.start(linked, "work in a worktree of its own").run.id
        holdfast.decide(linked, "Use backoff")
        put(linked.root, {"a.txt": "never committed\n", "deep/b.txt": "b\n"})
        return run, take(linked)


def remove_with_git(project: Workspace, path: Path) -> None:
    git(project.root, "worktree", "remove", "--force", str(path))


def remove_by_hand(project: Workspace, path: Path) -> None:
    shutil.rmtree(path)


def remove_and_prune(project: Workspace, path: Path) -> None:
    shutil.rmtree(path)
    git(project.root, "worktree", "prune")
    git(project.root, "gc", "-q", "--prune=now")


WAYS = [remove_with_git, remove_by_hand, remove_and_prune]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_run_and_its_checkpoints_outlive_their_worktree(
    project: Workspace, tmp_path: Path, clock: TickingClock, way: object
) -> None:
    run, made = worked_in(project, tmp_path / "linked", clock)
    assert callable(way)
    way(project, tmp_path / "linked")
    assert [found.id for found in holdfast.runs(project).runs] == [run]
    shown = holdfast.show(project, run)
    assert isinstance(shown, RunShown)
    assert (shown.run.worktree, shown.run.decisions[0].text) == ("linked", "Use backoff")
    assert made.id in {found.id for found in holdfast.checkpoints(project, every=True).checkpoints}
    assert holdfast.show(project, made.id)
    assert "never committed" in holdfast.diff(project, made.id).code
    holdfast.restore(project, made.id, force=True)
    assert (project.root / "a.txt").read_text() == "never committed\n"
    assert (project.root / "deep/b.txt").read_text() == "b\n"
    assert holdfast.verify(project, deep=True).problems == []


def test_a_run_of_a_removed_worktree_goes_on_in_another(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    run, _ = worked_in(project, tmp_path / "linked", clock)
    remove_with_git(project, tmp_path / "linked")
    holdfast.switch(project, run)
    holdfast.note(project, "goes on here")
    assert holdfast.status(project).run is not None
    told = Command.run("resume", run, "--print", "--from", "fresh", directory=project.root).ok()
    assert run in told.out + told.err


def test_a_run_and_its_checkpoints_outlive_their_branch(project: Workspace) -> None:
    put(project.root, {"a.txt": "main\n"})
    commit(project.root)
    first = git(project.root, "branch", "--show-current")
    git(project.root, "switch", "-q", "-c", "feature")
    run = holdfast.start(project, "work on a branch").run.id
    put(project.root, {"a.txt": "on the branch\n"})
    commit(project.root)
    put(project.root, {"a.txt": "on the branch, never committed\n"})
    made = take(project)
    git(project.root, "switch", "-q", "-f", first)
    git(project.root, "branch", "-D", "feature")
    git(project.root, "reflog", "expire", "--expire=now", "--all")
    git(project.root, "gc", "-q", "--prune=now")
    assert [found.id for found in holdfast.runs(project).runs] == [run]
    assert made.branch == "feature"
    holdfast.restore(project, made.id, force=True)
    assert (project.root / "a.txt").read_text() == "on the branch, never committed\n"
    assert holdfast.verify(project, deep=True).problems == []
