"""Copies of the user's index: whole, whatever a kill or a power cut left of the ones before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.project.workspace import Workspace
from holdfast.system import files
from tests.packs import drop_all_but_the_last, pruned
from tests.worktrees import commit, git, put, said_by_git, take


@pytest.fixture
def split(project: Workspace) -> Workspace:
    put(project.root, {f"f{number}": str(number) for number in range(3)})
    take(project)
    commit(project.root)
    git(project.root, "update-index", "--split-index")
    return project


def shared(workspace: Workspace) -> Path:
    (found,) = (workspace.root / ".git").glob("sharedindex.*")
    return found


@pytest.mark.promise(1, 2)
@pytest.mark.parametrize("left", [lambda data: data[:60], lambda data: bytes(len(data)), lambda data: b""])
@pytest.mark.parametrize("work", [take, pruned])
def test_a_part_of_a_split_index_that_was_half_copied_is_copied_again(
    split: Workspace, left: Callable[[bytes], bytes], work: Callable[[Workspace], object]
) -> None:
    theirs = shared(split)
    copy = split.place / "git" / theirs.name
    take(split)
    drop_all_but_the_last(split)
    copy.write_bytes(left(theirs.read_bytes()))
    put(split.root, {"f1": "staged"})
    git(split.root, "add", "f1")
    work(split)
    assert copy.read_bytes() == theirs.read_bytes()


@pytest.mark.promise(1)
def test_a_part_of_a_split_index_has_no_name_before_all_of_it_is_there(
    split: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    with pytest.raises(HoldfastError):
        take(split)
    assert not (split.place / "git" / shared(split).name).exists()


def test_parts_of_a_split_index_that_git_no_longer_has_are_not_kept(split: Workspace) -> None:
    take(split)
    before = shared(split)
    git(split.root, "update-index", "--no-split-index")
    put(split.root, {"new": "new"})
    git(split.root, "add", "new")
    before.unlink(missing_ok=True)
    git(split.root, "update-index", "--split-index")
    take(split)
    assert [path.name for path in (split.place / "git").glob("sharedindex.*")] == [shared(split).name]


@pytest.mark.promise(9, 10)
def test_an_index_that_undo_puts_back_needs_no_part_that_git_has_let_go(split: Workspace) -> None:
    root = split.root
    made = take(split)
    git(root, "config", "splitIndex.sharedIndexExpire", "now")
    put(root, {"f1": "staged", "f2": "changed"})
    git(root, "add", "f1")
    before, parted = said_by_git(root), shared(split)
    holdfast.restore(split, made.id, index=True)
    git(root, "update-index", "--split-index")
    put(root, {"new": "new"})
    git(root, "add", "new")
    (root / "new").unlink()
    git(root, "rm", "-q", "--cached", "new")
    assert not parted.exists()
    holdfast.undo(split)
    assert said_by_git(root) == before
