"""Directories that look as they did are not read again, and nothing is overlooked because of that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system.git.command import Git, Running
from holdfast.worktree import scan_directories
from tests.environments import humble
from tests.worktrees import commit, git, picture, put, take, tree_by_git

HELD: dict[str, str | bytes] = {
    ".gitignore": "*.log\nout/\n",
    "a.txt": "one\n",
    "dir/b.txt": "two\n",
    "dir/deep/c.txt": "three\n",
    "dir/deep/noise.log": "ignored",
    "only/noise.log": "ignored",
    "out/made": "ignored",
    "new/untracked": "four\n",
}


@pytest.fixture
def settled(project: Workspace) -> Workspace:
    """A worktree of which everything is known, and in which nothing has changed for a while."""
    put(project.root, HELD)
    (project.root / "empty").mkdir()
    git(project.root, "add", ".gitignore", "a.txt", "dir")
    git(project.root, "commit", "-q", "-m", "first")
    take(project)
    with shadow_of(project) as shadow:
        wait_until_settled(shadow.directory / "excludes")
    wait_until_settled(project.root)
    take(project)
    with shadow_of(project) as shadow:
        memory = shadow._load()
    assert memory is not None
    assert memory.watch is not None
    assert set(memory.watch.directories) == {b"", b"dir", b"dir/deep", b"only", b"new", b"empty"}
    assert None not in memory.watch.directories.values()
    assert memory.watch.ignored == {b"out"}
    return project


def wait_until_settled(root: Path) -> None:
    """Wait until nothing in a directory is so young that a further change might not show."""
    paths = [root, *(path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts)]
    while any(not is_settled(path) for path in paths):
        pass


def is_settled(path: Path) -> bool:
    status = path.lstat()
    return scan_directories.is_settled(status.st_mtime_ns, status.st_ctime_ns, time.time_ns())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that are started from now on."""
    found: list[str] = []
    start = Git.start

    def noted(self: Git, *arguments: str, **places: Path | None) -> Running:
        found.append(arguments[0])
        return start(self, *arguments, **places)

    monkeypatch.setattr(Git, "start", noted)
    return found


def test_a_changed_file_costs_one_question_to_git(settled: Workspace, started: list[str]) -> None:
    put(settled.root, {"dir/b.txt": "changed\n"})
    made = take(settled)
    assert (started, made.changed) == (["diff-files"], ["dir/b.txt"])


def test_a_new_file_costs_one_question_more(settled: Workspace, started: list[str]) -> None:
    put(settled.root, {"dir/new.txt": "new\n"})
    made = take(settled)
    assert (sorted(started), made.changed) == (["diff-files", "ls-files"], ["dir/new.txt"])


# What may happen between two looks.


def adds_files(root: Path) -> None:
    put(root, {"x": "1", "dir/x": "2", "dir/deep/x": "3", "new/x": "4", "only/x": "5", "empty/x": "6"})


def adds_ignored_files(root: Path) -> None:
    put(root, {"x.log": "1", "dir/x.log": "2", "out/x": "3", "dir/out/x": "4", "empty/x.log": "5"})


def adds_directories(root: Path) -> None:
    put(root, {"fresh/a/b/c": "1", "dir/fresh/x": "2", "out2/x": "3"})
    (root / "dir/hollow/deep").mkdir(parents=True)


def adds_a_directory_of_ignored_files_and_then_more(root: Path) -> None:
    put(root, {"late/x.log": "1"})


def empties_directories(root: Path) -> None:
    (root / "new/untracked").unlink()
    (root / "only/noise.log").unlink()
    (root / "dir/deep/c.txt").unlink()


def removes_directories(root: Path) -> None:
    shutil.rmtree(root / "dir")
    shutil.rmtree(root / "new")
    (root / "empty").rmdir()


def renames_a_directory(root: Path) -> None:
    (root / "dir").rename(root / "moved")


def puts_a_link_where_a_directory_was(root: Path) -> None:
    shutil.rmtree(root / "dir/deep")
    (root / "dir/deep").symlink_to("../new", target_is_directory=True)


def ignores_more(root: Path) -> None:
    put(root, {".gitignore": "*.log\nout/\nnew2/\n", "new2/x": "1"})


def ignores_less(root: Path) -> None:
    put(root, {".gitignore": "out/\n"})


def ignores_nothing(root: Path) -> None:
    (root / ".gitignore").unlink()


def ignores_in_a_directory(root: Path) -> None:
    put(root, {"dir/.gitignore": "*.tmp\n", "dir/x.tmp": "1", "dir/y": "2"})


def ignores_by_the_repositorys_own_list(root: Path) -> None:
    put(root, {".git/info/exclude": "secret\n", "secret": "1", "dir/secret": "2"})


def sets_the_date_of_a_directory_back(root: Path) -> None:
    """As copying programs do after they have put a file there."""
    status = (root / "dir").stat()
    put(root, {"dir/copied": "1"})
    os.utime(root / "dir", ns=(status.st_atime_ns, status.st_mtime_ns))


def replaces_files_by_renaming(root: Path) -> None:
    put(root, {"a.tmp": "changed"})
    (root / "a.tmp").rename(root / "a.txt")


def adds_many_files(root: Path) -> None:
    put(root, {f"dir/many{number}": f"{number}" for number in range(scan_directories.MANY + 10)})


def commits_and_switches(root: Path) -> None:
    put(root, {"dir/x": "1"})
    commit(root)
    git(root, "checkout", "-q", "HEAD~1")


HAPPENINGS: dict[str, Callable[[Path], None]] = {
    found.__name__.replace("_", " "): found
    for found in (
        adds_files,
        adds_ignored_files,
        adds_directories,
        adds_a_directory_of_ignored_files_and_then_more,
        empties_directories,
        removes_directories,
        renames_a_directory,
        puts_a_link_where_a_directory_was,
        ignores_more,
        ignores_less,
        ignores_nothing,
        ignores_in_a_directory,
        ignores_by_the_repositorys_own_list,
        sets_the_date_of_a_directory_back,
        replaces_files_by_renaming,
        adds_many_files,
        commits_and_switches,
    )
}


@pytest.mark.promise(9)
@pytest.mark.parametrize("happening", HAPPENINGS)
def test_nothing_is_overlooked(settled: Workspace, happening: str) -> None:
    """Twice: the second time, what the first look has learned must not be wrong either."""
    HAPPENINGS[happening](settled.root)
    for more in ({}, {"late/y": "1", "dir/later": "2", "empty/later.txt": "3", "only/later": "4"}):
        wait_until_settled(settled.root)
        put(settled.root, dict(more))
        made = take(settled)
        assert made.tree == tree_by_git(settled.root)
        with shadow_of(settled) as shadow:
            shadow.forget()
        anew = take(settled)
        assert (anew.tree, anew.beside) == (made.tree, made.beside)


def test_a_repository_inside_is_found_when_it_comes_and_when_it_goes(settled: Workspace) -> None:
    put(settled.root, {"inner/x": "1"})
    git(settled.root, "init", "-q", "inner")
    assert beside_of(settled, take(settled))[1] == {b"inner"}
    wait_until_settled(settled.root)
    shutil.rmtree(settled.root / "inner/.git")
    made = take(settled)
    assert (beside_of(settled, made)[1], made.tree) == (set(), tree_by_git(settled.root))


def beside_of(project: Workspace, made: holdfast.Checkpoint) -> tuple[set[bytes], set[bytes]]:
    from holdfast.worktree.metadata import TreeMetadata

    with shadow_of(project) as shadow:
        beside = TreeMetadata.decode(shadow.reader.read(made.beside) or b"")
    return set(beside.empty), set(beside.links)


def test_empty_directories_are_told_one_by_one(settled: Workspace) -> None:
    assert beside_of(settled, take(settled))[0] == {b"empty"}
    (settled.root / "empty/inner").mkdir()
    assert beside_of(settled, take(settled))[0] == {b"empty/inner"}
    (settled.root / "empty/inner").rmdir()
    (settled.root / "empty").rmdir()
    (settled.root / "only/noise.log").unlink()
    assert beside_of(settled, take(settled))[0] == {b"only"}


def test_the_list_that_the_users_own_settings_name_counts(settled: Workspace, home: Path) -> None:
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (home / "mine").write_text("*.mine\n")
    put(settled.root, {"x.mine": "1", "x": "2"})
    assert take(settled).changed == ["x"]
    (home / "mine").write_text("nothing\n")
    assert take(settled).changed == ["x.mine"]


def test_a_directory_that_cannot_be_read_is_read_once_it_can(settled: Workspace) -> None:
    (settled.root / "dir/deep").chmod(0)
    command = [*humble(), sys.executable, "-m", "holdfast", "checkpoint"]
    subprocess.run(command, cwd=settled.root, capture_output=True, check=True)
    (settled.root / "dir/deep").chmod(0o755)
    before = picture(settled.root)
    assert take(settled).tree == tree_by_git(settled.root)
    assert picture(settled.root) == before


def test_what_was_remembered_is_not_believed_beside_another_index(settled: Workspace) -> None:
    """A power cut may bring back an older memory: git's index would then hide what had changed since."""
    with shadow_of(settled) as shadow:
        older = (shadow.directory / "memory").read_bytes()
        put(settled.root, {"dir/b.txt": "changed\n"})
        shadow.git.run("update-index", "dir/b.txt")
        (shadow.directory / "memory").write_bytes(older)
    assert take(settled).tree == tree_by_git(settled.root)


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, b"\0\0\0\0\x80"], ids=["empty", "zeros", "no checksum"])
def test_a_memory_that_a_power_cut_damaged_is_made_anew(settled: Workspace, damage: bytes) -> None:
    with shadow_of(settled) as shadow:
        (shadow.directory / "memory").write_bytes(damage)
    put(settled.root, {"dir/b.txt": "changed\n"})
    assert take(settled).tree == tree_by_git(settled.root)


def test_a_file_above_the_limit_is_still_named_after_many_changes_were_folded_in(
    settled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken into the private index once, and from then on seemed not to be there at all."""
    from holdfast.worktree import capture as shadowing

    monkeypatch.setattr(shadowing, "FOLDED", 1)
    holdfast.config_set(settled, "checkpoint.file_limit", "1")
    del settled.settings
    put(settled.root, {"large": b"x" * 1_000_001, "x": "1", "y": "2"})
    for _ in range(3):
        assert take(settled).skipped == ["large"]


@pytest.mark.promise(9)
@pytest.mark.parametrize("head", ["", "what a power cut left"], ids=["empty", "damaged"])
def test_what_git_takes_for_no_repository_is_kept_like_any_directory(head: str, settled: Workspace) -> None:
    root = settled.root
    put(root, {"half/.git/HEAD": head, "half/x": "x"})
    made = take(settled)
    assert made.changed == ["half/x"]
    put(root, {"half/x": "changed", "half/later": "later"})
    before = picture(root)
    kept = take(settled)
    assert kept.changed == ["half/later", "half/x"]
    holdfast.restore(settled, made.id)
    assert (root / "half/x").read_text() == "x"
    holdfast.undo(settled)
    assert picture(root) == before


@pytest.mark.promise(9)
def test_a_repository_inside_whose_head_was_damaged_for_a_while_is_one_again(settled: Workspace) -> None:
    """Nothing else shows that, and a restore overwrote its files."""
    root = settled.root
    git(root, "init", "-q", "inner")
    put(root, {"inner/x": "its own"})
    commit(root / "inner")
    head = (root / "inner/.git/HEAD").read_bytes()
    put(root, {"inner/.git/HEAD": b""})
    assert take(settled).changed == ["inner/x"]
    wait_until_settled(root / "inner")
    made = take(settled)
    put(root, {"inner/.git/HEAD": head, "inner/x": "changed"})
    with pytest.raises(holdfast.Refused, match="A repository was made"):
        holdfast.restore(settled, made.id)
    assert (root / "inner/x").read_text() == "changed"


@pytest.mark.promise(9)
def test_a_git_file_that_does_not_say_so_leads_nowhere(settled: Workspace) -> None:
    put(settled.root, {"odd/.git": f"{settled.root}/.git\n", "odd/x": "x"})
    made = take(settled)
    put(settled.root, {"odd/x": "changed"})
    assert take(settled).changed == ["odd/x"]
    holdfast.restore(settled, made.id)
    assert (settled.root / "odd/x").read_text() == "x"
