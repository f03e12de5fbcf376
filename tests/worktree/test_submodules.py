"""Paths that are a submodule at one time and an ordinary directory or file at another: what stands there is kept."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.restore.plan import plan_restore
from tests.conftest import TickingClock
from tests.worktrees import back, commit, git, picture, put, take

pytestmark = pytest.mark.promise(9)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What the submodule is a clone of."""
    directory = tmp_path / "source"
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    put(directory, {"s": "s"})
    commit(directory)
    return directory


@pytest.fixture
def composed(project: Workspace, source: Path) -> Workspace:
    """A project with a submodule that was looked at while it was one."""
    put(project.root, {"a": "a"})
    add(project.root, source, "sub")
    take(project)
    return project


def add(root: Path, source: Path, name: str) -> None:
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), name)
    commit(root)


def names(workspace: Workspace, made: holdfast.Checkpoint) -> list[str]:
    return git(workspace.root, "ls-tree", "-r", "--name-only", made.tree).split("\n")


def links(workspace: Workspace, made: holdfast.Checkpoint) -> dict[bytes, str]:
    return TreeMetadata.decode(git(workspace.root, "cat-file", "blob", made.beside).encode()).links


def test_a_submodule_that_becomes_an_ordinary_directory_is_kept(composed: Workspace) -> None:
    root = composed.root
    git(root, "rm", "-q", "--cached", "sub")
    (root / "sub/.git").unlink()
    git(root, "rm", "-q", "-f", ".gitmodules")
    put(root, {"sub/s": "hours of work", "sub/deep/new": "new"})
    commit(root)
    made, before = take(composed), picture(root)
    assert (names(composed, made), links(composed, made)) == (["a", "sub/deep/new", "sub/s"], {})
    shutil.rmtree(root / "sub")
    back(composed, made)
    assert picture(root) == before


def test_a_submodule_whose_git_directory_is_gone_is_an_ordinary_directory(composed: Workspace) -> None:
    root = composed.root
    shutil.rmtree(root / ".git/modules/sub")
    put(root, {"sub/s": "hours of work", "sub/new": "new"})
    git(root, "rm", "-q", "-f", "--cached", "sub")
    made = take(composed)
    assert (names(composed, made), links(composed, made)) == ([".gitmodules", "a", "sub/new", "sub/s"], {})
    put(root, {"sub/s": "changed", "sub/later": "later"})
    assert take(composed).changed == ["sub/later", "sub/s"]


def test_a_file_in_the_place_of_a_submodule_is_kept(composed: Workspace) -> None:
    root = composed.root
    git(root, "rm", "-q", "-f", "sub")
    put(root, {"sub": "a file now"})
    commit(root)
    made = take(composed)
    (root / "sub").unlink()
    back(composed, made)
    assert (root / "sub").read_text() == "a file now"


def test_a_branch_on_which_a_submodule_is_a_directory_is_kept(project: Workspace, source: Path) -> None:
    root = project.root
    put(root, {"a": "a"})
    commit(root)
    main = git(root, "symbolic-ref", "--short", "HEAD")
    git(root, "checkout", "-q", "-b", "with")
    add(root, source, "lib")
    git(root, "checkout", "-q", "-f", main)
    shutil.rmtree(root / "lib")
    put(root, {"lib/real": "real"})
    commit(root)
    shutil.rmtree(root / "lib")
    git(root, "checkout", "-q", "-f", "with")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    first = take(project)
    assert list(links(project, first)) == [b"lib"]
    shutil.rmtree(root / "lib")
    git(root, "checkout", "-q", "-f", main)
    put(root, {"lib/real": "edited"})
    made, before = take(project), picture(root)
    shutil.rmtree(root / "lib")
    back(project, made)
    assert picture(root) == before
    back(project, first)  # what stands below a repository of then is left alone
    assert (root / "lib/real").read_text() == "edited"


def test_work_in_a_submodule_that_was_never_fetched_is_kept(
    composed: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(composed.root), str(clone))
    with holdfast.open(clone, clock=clock) as workspace:
        holdfast.init(workspace)
        empty = take(workspace)
        put(clone, {"sub/work": "work"})
        made = take(workspace)
        assert names(workspace, made) == [".gitmodules", "a", "sub/work"]
        back(workspace, empty)
        assert list((clone / "sub").iterdir()) == []
        git(clone, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
        fetched = take(workspace)
        assert links(workspace, fetched) == {b"sub": git(clone / "sub", "rev-parse", "HEAD")}
        assert names(workspace, fetched) == [".gitmodules", "a"]


def test_what_is_left_of_a_submodule_stays_when_a_restore_goes_back_to_before(composed: Workspace) -> None:
    root = composed.root
    made = take(composed)
    git(root, "submodule", "--quiet", "deinit", "-f", "sub")
    (root / "sub/build").mkdir()  # as a tool leaves it
    empty = take(composed)
    put(root, {"a": "changed"})
    assert list(back(composed, made).acts) == ["a"]
    assert git(root, "status", "--short") == ""
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert back(composed, empty).acts == {}


def test_a_submodule_is_left_alone_whatever_an_earlier_version_kept_of_it(composed: Workspace) -> None:
    """It had the submodule's commit in its trees."""
    root = composed.root
    made = take(composed)
    env = {"GIT_INDEX_FILE": str(root.parent / "scratch")}
    git(root, "read-tree", "HEAD", env=env)
    earlier = git(root, "write-tree", env=env)
    assert "160000" in git(root, "ls-tree", earlier)
    with shadow_of(composed) as shadow:
        beside = TreeMetadata.decode(shadow.reader.read(made.beside) or b"")
        plan = plan_restore(shadow, (made.tree, beside), (earlier, beside), limit=0)
        assert (plan.paths, plan.make_empty, plan.drop_empty) == ([], [], [])
        plan = plan_restore(shadow, (earlier, beside), (made.tree, beside), limit=0)
        assert (plan.paths, plan.make_empty, plan.drop_empty) == ([], [], [])
