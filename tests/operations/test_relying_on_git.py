"""Checkpoints and git's loose objects, which git does not sync: those that are relied on are brought to the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.workspace import Workspace
from holdfast.worktree import syncing
from tests.operations.trees import git, put, take

pytestmark = pytest.mark.promise(2)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The files that were synced, of which somebody else has written."""
    found: set[str] = set()
    monkeypatch.setattr(syncing, "sync", found.add)
    return found


def loose(root: Path) -> set[str]:
    return {str(path) for path in (root / ".git/objects").glob("??/*")}


def test_the_first_checkpoint_syncs_what_it_takes_over_from_the_index(project: Workspace, synced: set[str]) -> None:
    put(project.root, {"a.txt": "a", "dir/b.txt": "b"})
    git(project.root, "add", "-A")
    blobs = loose(project.root)
    take(project)
    assert blobs
    assert blobs <= synced


@pytest.mark.parametrize("then", ["", "changed again"], ids=["as it is", "changed again"])
def test_what_was_staged_since_is_synced_and_nothing_else(project: Workspace, synced: set[str], then: str) -> None:
    put(project.root, {"a.txt": "a", "b.txt": "b"})
    git(project.root, "add", "-A")
    take(project)
    before = loose(project.root)
    synced.clear()
    put(project.root, {"a.txt": "new"})
    git(project.root, "add", "-A")
    put(project.root, {"a.txt": then} if then else {})
    take(project)
    assert synced == loose(project.root) - before
    synced.clear()
    take(project)
    assert synced == set()


def test_what_a_commit_brought_is_synced(project: Workspace, synced: set[str]) -> None:
    put(project.root, {"dir/a.txt": "a"})
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "one")
    take(project)
    trees = {git(project.root, "rev-parse", f"HEAD{what}") for what in ("^{tree}", ":dir", ":dir/a.txt")}
    assert {f"{path[-41:-39]}{path[-38:]}" for path in synced} >= trees


def test_many_are_synced_at_once_with_the_file_system_they_lie_on(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(syncing, "sync_file_system", asked.append)
    put(project.root, {f"f{number}": str(number) for number in range(syncing.MANY + 1)})
    git(project.root, "add", "-A")
    take(project)
    assert asked == [str(project.root / ".git/objects")]


def test_a_file_system_is_synced_for_real_and_a_failure_is_told(tmp_path: Path) -> None:
    syncing.sync_file_system(str(tmp_path))
    with pytest.raises(OSError, match="No such file"):
        syncing.sync_file_system(str(tmp_path / "gone"))


def test_what_git_packed_meanwhile_needs_no_sync(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    syncing.sync_objects([str(tmp_path / "ab/cdef")])


@pytest.mark.promise(6)
def test_an_object_that_a_power_cut_left_empty_is_not_relied_on(project: Workspace) -> None:
    """It counted as there: the checkpoint was acknowledged, and could not be restored."""
    take(project)
    put(project.root, {"b.txt": "precious"})
    git(project.root, "add", "b.txt")
    name = git(project.root, "rev-parse", ":b.txt")
    path = project.root / ".git/objects" / name[:2] / name[2:]
    os.chmod(path, 0o644)
    path.write_bytes(b"")
    git(project.root, "rm", "-q", "--cached", "b.txt")
    made = take(project)
    (project.root / "b.txt").unlink()
    holdfast.restore(project, made.id)
    assert (project.root / "b.txt").read_text() == "precious"


@pytest.mark.promise(6)
@pytest.mark.parametrize("damaged", [b"", bytes(200), b"DIRC\0\0\0\x09" + bytes(60)], ids=["empty", "zeros", "odd"])
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
def test_an_index_that_a_power_cut_damaged_stops_no_checkpoint_and_no_restore(
    project: Workspace, damaged: bytes, is_first: bool
) -> None:
    """Git does not sync it either, and on xfs nothing of it may be left."""
    put(project.root, {"a.txt": "a"})
    git(project.root, "add", "-A")
    if not is_first:
        take(project)
    (project.root / ".git/index").write_bytes(damaged)
    put(project.root, {"b.txt": "b"})
    made = take(project)
    assert made.staged is None
    assert [text for text in project.warnings if f"`rm {project.root}/.git/index && git reset`" in text]
    put(project.root, {"a.txt": "spoiled", "b.txt": "spoiled"})
    holdfast.restore(project, made.id)
    assert [(project.root / name).read_text() for name in ("a.txt", "b.txt")] == ["a", "b"]
