"""Files that git's index has and the worktree may lack: sparse checkouts, and what git was told to skip."""

from __future__ import annotations

import shutil

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from tests.worktrees import back, commit, git, let_the_files_be_old, picture, put, put_long_ago, take

pytestmark = pytest.mark.promise(9)
BOTH_FORMS = pytest.mark.parametrize(
    "sparse", ["--no-sparse-index", "--sparse-index"], ids=["files", "folded"], indirect=True
)


@pytest.fixture
def sparse(project: Workspace, request: pytest.FixtureRequest) -> Workspace:
    """Two directories, of which one is left out."""
    put_long_ago(project.root, {"in/a": "one1", "out/b": "two2", "out/deep/c": "three", "top": "t"})
    commit(project.root)
    git(project.root, "sparse-checkout", "set", getattr(request, "param", "--no-sparse-index"), "in")
    let_the_files_be_old(project)
    return project


def names(workspace: Workspace, made: holdfast.Checkpoint) -> list[str]:
    return git(workspace.root, "ls-tree", "-r", "--name-only", made.tree).split("\n")


@pytest.mark.parametrize("flags", [["--skip-worktree"], ["--skip-worktree", "--assume-unchanged"]], ids=" ".join)
def test_a_change_of_the_same_size_that_git_was_told_to_skip_is_kept(project: Workspace, flags: list[str]) -> None:
    put_long_ago(project.root, {"f": "one\n", "g": "g"})
    commit(project.root)
    for flag in flags:
        git(project.root, "update-index", flag, "f")
    let_the_files_be_old(project)
    first = take(project)
    put(project.root, {"f": "two\n"})
    second = take(project)
    assert second.changed == ["f"]
    (project.root / "f").unlink()
    back(project, second)
    assert (project.root / "f").read_text() == "two\n"
    back(project, first)
    assert (project.root / "f").read_text() == "one\n"


@BOTH_FORMS
def test_what_a_sparse_checkout_left_out_is_kept_once_it_is_there(sparse: Workspace) -> None:
    assert names(sparse, take(sparse)) == ["in/a", "top"]
    git(sparse.root, "sparse-checkout", "add", "out")
    put(sparse.root, {"out/b": "hours of work", "in/a": "more"})
    made, before = take(sparse), picture(sparse.root)
    assert names(sparse, made) == ["in/a", "out/b", "out/deep/c", "top"]
    shutil.rmtree(sparse.root / "out")
    shutil.rmtree(sparse.root / "in")
    back(sparse, made)
    assert picture(sparse.root) == before


@BOTH_FORMS
def test_what_a_sparse_checkout_leaves_out_is_neither_written_nor_counted(sparse: Workspace) -> None:
    first = take(sparse)
    put(sparse.root, {"in/a": "two"})
    made, before, said = take(sparse), picture(sparse.root), git(sparse.root, "status", "--porcelain")
    assert made.changed == ["in/a"]
    put(sparse.root, {"in/a": "three"})
    assert back(sparse, made).paths == ["in/a"]
    assert (picture(sparse.root), git(sparse.root, "status", "--porcelain")) == (before, said)
    assert back(sparse, first).paths == ["in/a"]
    assert not (sparse.root / "out").exists()


def test_a_file_that_stands_where_a_sparse_checkout_leaves_it_out_is_kept(sparse: Workspace) -> None:
    put(sparse.root, {"out/b": "made by hand"})
    made = take(sparse)
    assert names(sparse, made) == ["in/a", "out/b", "top"]
    put(sparse.root, {"out/b": "changed by me"})
    back(sparse, made)
    assert (sparse.root / "out/b").read_text() == "made by hand"
