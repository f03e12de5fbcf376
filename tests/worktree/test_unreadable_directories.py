"""Directories that may not be entered: what is in them is neither known nor gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from holdfast.worktree.metadata import TreeMetadata
from tests.environments import humble
from tests.worktrees import back, commit, git, let_the_files_be_old, put, put_long_ago, take

pytestmark = pytest.mark.promise(9)
MODES = pytest.mark.parametrize("mode", [0, 0o444, 0o111], ids=["closed", "listed", "passed through"])
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def humbly(project: Workspace) -> Run:
    """The real command, run by somebody for whom permissions count."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*humble(), sys.executable, "-m", "holdfast", *arguments]
        return subprocess.run(command, cwd=project.root, capture_output=True, check=False, text=True)

    return run


@pytest.fixture
def held(project: Workspace, seeded: bool) -> Workspace:
    put_long_ago(project.root, {"a": "a", "d/f": "one", "d/deep/g": "two", "e": "e"})
    commit(project.root)
    let_the_files_be_old(project)
    if seeded:
        take(project)
    return project


def last(workspace: Workspace) -> holdfast.Checkpoint:
    return holdfast.checkpoints(workspace).checkpoints[0]


def beside_of(workspace: Workspace, made: holdfast.Checkpoint) -> TreeMetadata:
    return TreeMetadata.decode(git(workspace.root, "cat-file", "blob", made.beside).encode())


@MODES
@pytest.mark.parametrize("seeded", [True, False], ids=["known", "first look"])
def test_files_below_a_directory_that_is_closed_are_not_taken_for_deleted(
    held: Workspace, humbly: Run, mode: int
) -> None:
    closed = held.root / "d"
    closed.chmod(mode)
    put(held.root, {"a": "changed"})
    done = humbly("checkpoint", "two")
    closed.chmod(0o755)
    assert done.returncode == 0, done.stderr
    two = last(held)
    put(held.root, {"d/f": "hours of work", "a": "once more"})
    restored = back(held, two)
    assert (held.root / "a").read_text() == "changed"
    assert (held.root / "d/deep/g").read_text() == "two"
    if mode == 0o111:  # what is known can be looked at
        assert (held.root / "d/f").read_text() == "one"
        return
    assert (held.root / "d/f").read_text() == "hours of work"
    assert "d/f (it cannot be read)" in done.stderr
    assert set(beside_of(held, two).skipped) == {b"d/f", b"d/deep/g"}
    assert "d/f" in restored.left


@pytest.mark.parametrize("seeded", [True])
def test_a_restore_while_a_directory_is_closed_leaves_it_alone(held: Workspace, humbly: Run) -> None:
    one = take(held)
    put(held.root, {"d/f": "hours of work", "a": "changed"})
    (held.root / "d").chmod(0)
    done = humbly("restore", one.id, "--yes")
    (held.root / "d").chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert "d/f cannot be reached" in done.stderr
    assert ((held.root / "a").read_text(), (held.root / "d/f").read_text()) == ("a", "hours of work")


@pytest.mark.parametrize("seeded", [True])
def test_what_was_closed_is_kept_again_once_it_is_open(held: Workspace, humbly: Run) -> None:
    tree = take(held).tree
    (held.root / "d").chmod(0)
    for _ in range(2):
        assert humbly("checkpoint").returncode == 0
        assert sorted(last(held).skipped) == ["d/deep/g", "d/f"]
    (held.root / "d").chmod(0o755)
    made = take(held)
    assert (made.tree, made.skipped) == (tree, [])


@pytest.mark.parametrize("mode", [0, 0o311], ids=["closed", "passed through"])
def test_a_repository_inside_that_is_closed_stops_nothing_and_its_files_stay_its_own(
    project: Workspace, humbly: Run, mode: int
) -> None:
    root = project.root
    put(root, {"a": "a", "inner/x": "x"})
    git(root, "init", "-q", "inner")
    commit(root / "inner")
    (root / "inner/.git").chmod(mode)
    done = humbly("checkpoint", "closed")
    (root / "inner/.git").chmod(0o755)
    assert done.returncode == 0, done.stderr
    made = last(project)
    assert list(beside_of(project, made).links) == [b"inner"]
    assert git(root, "ls-tree", "-r", "--name-only", made.tree) == "a"
    put(root, {"a": "changed", "inner/x": "its own"})
    assert back(project, made).paths == ["a"]
    assert (root / "inner/x").read_text() == "its own"
