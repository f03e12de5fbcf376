"""Checkpoints and git's loose objects, which git does not sync: those that are relied on are brought to the disk.

Those that the checkpoint's own pack holds as well need no sync.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.command import Git, Running
from tests.worktrees import commit, git, let_the_files_be_old, put, take

pytestmark = pytest.mark.promise(2)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The files that were synced, of which somebody else has written."""
    found: set[str] = set()
    monkeypatch.setattr(files, "sync", found.add)
    return found


def loose(root: Path) -> set[str]:
    return {str(path) for path in (root / ".git/objects").glob("??/*")}


def packed(root: Path) -> set[str]:
    """The files that loose objects would have which a pack of ours holds."""
    listed: set[str] = set()
    for index in (root / ".git/objects/pack").glob("pack-*.idx"):
        listed |= {line.split()[1] for line in shown(root, index).splitlines()}
    return {f"{root}/.git/objects/{id[:2]}/{id[2:]}" for id in listed}


def shown(root: Path, index: Path) -> str:
    with open(index, "rb") as file:
        done = subprocess.run(["git", "show-index"], cwd=root, stdin=file, capture_output=True, check=True, text=True)
    return done.stdout


def test_the_first_checkpoint_syncs_what_it_takes_over_from_the_index(project: Workspace, synced: set[str]) -> None:
    put(project.root, {"a.txt": "a", "dir/b.txt": "b"})
    git(project.root, "add", "-A")
    blobs = loose(project.root)
    put(project.root, {"a.txt": "changed", "dir/b.txt": "changed"})
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
    brought = loose(project.root) - before
    assert synced == (brought if then else set())
    assert brought <= synced | packed(project.root)
    synced.clear()
    take(project)
    assert synced == set()


def test_what_a_commit_brought_is_synced(project: Workspace, synced: set[str]) -> None:
    put(project.root, {"dir/a.txt": "a"})
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "one")
    take(project)
    assert objects_of(project.root) <= synced | packed(project.root)


def objects_of(root: Path) -> set[str]:
    """The files of the trees and of the blob of a commit."""
    ids = [git(root, "rev-parse", f"HEAD{what}") for what in ("^{tree}", ":dir", ":dir/a.txt")]
    return {f"{root}/.git/objects/{id[:2]}/{id[2:]}" for id in ids}


@pytest.mark.parametrize("then", ["two", "changed again"], ids=["as it is", "changed again"])
def test_what_a_later_commit_brought_is_on_the_disk(project: Workspace, synced: set[str], then: str) -> None:
    put(project.root, {"dir/a.txt": "one", "b.txt": "b"})
    commit(project.root)
    take(project)
    synced.clear()
    put(project.root, {"dir/a.txt": "two"})
    commit(project.root)
    put(project.root, {"dir/a.txt": then})
    made = take(project)
    assert made.staged == git(project.root, "rev-parse", "HEAD^{tree}")
    assert objects_of(project.root) <= synced | packed(project.root)
    assert synced == ({path for path in objects_of(project.root) if "changed" in then} - packed(project.root))


def test_a_later_commit_of_which_a_power_cut_took_a_tree_is_not_relied_on(project: Workspace) -> None:
    put(project.root, {"dir/a.txt": "one"})
    commit(project.root)
    take(project)
    put(project.root, {"dir/a.txt": "two"})
    commit(project.root)
    tree = git(project.root, "rev-parse", "HEAD^{tree}")
    (project.root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert take(project).staged == tree, "git writes it once more from the index"
    assert holdfast.verify(project).problems == []


@pytest.mark.defect("A checkpoint right after a commit of the user cost 2.0 x git's own commit at 20,000 files")
def test_a_checkpoint_after_a_commit_asks_git_for_no_more_than_another(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project.root, {f"dir/{number}": "one" for number in range(20)})
    commit(project.root)
    let_the_files_be_old(project)
    take(project)
    asked: list[str] = []
    start = Git.start

    def noted(self: Git, *words: str, **places: Path | None) -> Running:
        asked.append(words[0])
        return start(self, *words, **places)

    monkeypatch.setattr(Git, "start", noted)
    while asked != ["diff-files"]:  # until the rules are old enough to be believed
        asked.clear()
        take(project)
    for turn in ("two", "three"):
        put(project.root, {"dir/2": turn})
        commit(project.root)
        put(project.root, {"dir/3": turn})
        asked.clear()
        assert take(project).staged == git(project.root, "rev-parse", "HEAD^{tree}")
        assert asked == ["diff-files"]


def test_many_are_synced_at_once_with_the_file_system_they_lie_on(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(files, "sync_file_system", asked.append)
    put(project.root, {f"f{number}": str(number) for number in range(files.MANY + 1)})
    git(project.root, "add", "-A")
    put(project.root, {f"f{number}": "changed" for number in range(files.MANY + 1)})
    take(project)
    assert asked == [str(project.root / ".git/objects")]


def test_a_file_system_is_synced_for_real_and_a_failure_is_told(tmp_path: Path) -> None:
    files.sync_file_system(str(tmp_path))
    with pytest.raises(OSError, match="No such file"):
        files.sync_file_system(str(tmp_path / "gone"))


def test_what_git_packed_meanwhile_needs_no_sync(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    files.sync_objects([str(tmp_path / "ab/cdef")])


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
