"""Checkpoints of real worktrees: exactly what git would store, and what git would lose as well."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Refused, WrongUsage
from holdfast.project.workspace import Workspace
from holdfast.worktree.metadata import TreeMetadata
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.tools import Command
from tests.worktrees import (
    WHO,
    back,
    commit,
    git,
    insides,
    let_the_files_be_old,
    picture,
    put,
    put_long_ago,
    take,
    tree_by_git,
    wreck,
)

HELD: dict[str, str | bytes] = {
    "a.txt": "one\n",
    "dir/b.txt": "two\n",
    "dir/deep/c.bin": bytes(range(256)),
    "zero": b"",
}


def comes_back(project: Workspace) -> holdfast.Checkpoint:
    """A checkpoint is what git would store, and brings everything back after all of it was lost. Twice."""
    before = picture(project.root)
    made = take(project)
    assert made.tree == tree_by_git(project.root)
    wreck(project.root)
    back(project, made)
    assert picture(project.root) == before
    again = take(project)
    assert (again.tree, again.beside) == (made.tree, made.beside)
    return made


# What stands in a worktree.


def plain(root: Path) -> None:
    put(root, HELD)


def links(root: Path) -> None:
    put(root, HELD)
    (root / "to file").symlink_to("a.txt")
    (root / "to directory").symlink_to("dir", target_is_directory=True)
    (root / "outside").symlink_to("/etc", target_is_directory=True)
    (root / "nowhere").symlink_to("not/there")
    (root / "dir" / "up").symlink_to("..")


def modes(root: Path) -> None:
    for mode in (0o600, 0o444, 0o755, 0o640, 0o644, 0o700, 0o555):
        put(root, {f"{mode:o}": f"{mode:o}"})
        (root / f"{mode:o}").chmod(mode)


def names_of_any_bytes(root: Path) -> None:
    for name in (
        b"\xff\xfe",
        b"new\nline",
        b"-rf",
        b"--",
        b" ",
        b"tab\t",
        b'"quoted"',
        b"\\",
        b":(top)x",
        b"*",
        b"\xc3\xa4",
        b"a\xcc\x88",
    ):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(name)
    directory = Path(os.fsdecode(os.fsencode(root) + b"/-d\xff\n"))
    directory.mkdir()
    (directory / "x").write_text("x")


def line_ends(root: Path) -> None:
    put(root, {"crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n", "bare": "a\rb", "dir/crlf": "\r\n"})


def sorted_as_git_sorts(root: Path) -> None:
    put(root, {"a/x": "1", "a.b": "2", "a-b": "3", "a0": "4", "ab/x": "5"})


def ignored(root: Path) -> None:
    put(
        root,
        {".gitignore": "*.log\nbuild/\n", "kept.txt": "kept", "src/.gitignore": "!keep.log\n", "src/keep.log": "kept"},
    )


def two_cases(root: Path) -> None:
    put(root, {"README": "one", "readme": "two", "Dir/x": "three", "dir/x": "four"})


TREES: dict[str, Callable[[Path], None]] = {
    found.__name__.replace("_", " "): found
    for found in (plain, links, modes, names_of_any_bytes, line_ends, sorted_as_git_sorts, ignored, two_cases)
}


@pytest.mark.promise(9)
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
@pytest.mark.parametrize("kind", TREES)
def test_a_worktree_comes_back_as_it_was(project: Workspace, kind: str, tracked: bool) -> None:
    TREES[kind](project.root)
    if tracked:
        commit(project.root)
    comes_back(project)


def test_an_empty_worktree_comes_back(project: Workspace) -> None:
    assert comes_back(project).commit is None


@pytest.mark.promise(9)
def test_empty_directories_come_back(project: Workspace) -> None:
    put(project.root, HELD)
    commit(project.root)
    for name in ("empty", "deep/er/empty", "dir/empty"):
        (project.root / name).mkdir(parents=True)
    comes_back(project)


def test_a_directory_that_became_empty_is_empty_again(project: Workspace) -> None:
    put(project.root, HELD)
    first = take(project)
    (project.root / "dir/b.txt").unlink()
    (project.root / "dir/deep/c.bin").unlink()
    second = take(project)
    before = picture(project.root)
    back(project, first)
    back(project, second)
    assert picture(project.root) == before


ATTRIBUTES = {
    "text=auto eol=crlf": "* text=auto eol=crlf\n",
    "text": "* text\n",
    "ident": "* ident\n",
    "working-tree-encoding": "*.txt text working-tree-encoding=UTF-16\n",
    "export-subst and merge": "* export-subst merge=union diff=x\n",
}


@pytest.mark.promise(9)
@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
def test_attributes_do_not_change_a_byte(project: Workspace, attributes: str, tracked: bool) -> None:
    put(project.root, {"crlf.txt": "a\r\nb\r\n".encode("utf-16"), "lf": "$Id$\n$Id: 1 $\n", "crlf": "a\r\n"})
    if tracked:
        put(project.root, {".gitattributes": ATTRIBUTES[attributes]})
        commit(project.root)
    else:
        put(project.root, {".git/info/attributes": ATTRIBUTES[attributes]})
    before = picture(project.root)
    made = take(project)
    wreck(project.root)
    back(project, made)
    assert picture(project.root) == before
    assert take(project).tree == made.tree


def test_what_is_behind_a_filter_is_kept_only_when_the_user_says_so(project: Workspace) -> None:
    put(
        project.root,
        {".gitattributes": "*.psd filter=lfs diff=lfs merge=lfs -text\n", "a.psd": "real content", "b": "b"},
    )
    asked = holdfast.checkpoint(project)
    assert (asked.filtered, asked.checkpoint.skipped) == (["a.psd"], ["a.psd"])
    holdfast.config_set(project, "checkpoint.filtered", "keep")
    del project.settings
    kept = holdfast.checkpoint(project)
    assert (kept.filtered, kept.checkpoint.skipped) == ([], [])
    wreck(project.root)
    back(project, kept.checkpoint)
    assert (project.root / "a.psd").read_text() == "real content"


@pytest.mark.promise(9)
@pytest.mark.parametrize("attributes", [".gitattributes", ".git/info/attributes"])
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "skipped"])
def test_what_a_filter_changes_without_changing_its_size_is_not_taken_from_git(
    project: Workspace, attributes: str, kept: bool
) -> None:
    git(project.root, "config", "filter.up.clean", "tr a-z A-Z")
    put_long_ago(project.root, {attributes: "*.txt filter=up\n", "dir/f.txt": "abc\n", "g": "g"})
    commit(project.root)
    assert git(project.root, "show", "HEAD:dir/f.txt") == "ABC"
    let_the_files_be_old(project)
    holdfast.config_set(project, "checkpoint.filtered", "keep" if kept else "skip")
    del project.settings
    made = take(project)
    put(project.root, {"dir/f.txt": "something else"})
    back(project, made)
    left_alone = not kept and attributes == ".gitattributes"
    assert (project.root / "dir/f.txt").read_text() == ("something else" if left_alone else "abc\n")
    assert made.skipped == (["dir/f.txt"] if left_alone else [])


@pytest.mark.promise(9)
def test_an_encoding_that_keeps_the_size_is_not_taken_from_git(project: Workspace) -> None:
    text = "one two\n".encode("cp037")
    put_long_ago(project.root, {".gitattributes": "*.txt text working-tree-encoding=IBM037\n", "f.txt": text})
    commit(project.root)
    assert git(project.root, "show", "HEAD:f.txt") == "one two"
    let_the_files_be_old(project)
    made = take(project)
    put(project.root, {"f.txt": "something else"})
    back(project, made)
    assert (project.root / "f.txt").read_bytes() == text


# What happens to a worktree between two checkpoints.


def rewrites(root: Path) -> None:
    put(root, {"a.txt": "changed\n", "dir/new": "new"})


def deletes(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "dir/deep/c.bin").unlink()


def renames_by_case(root: Path) -> None:
    (root / "a.txt").rename(root / "A.TXT")
    (root / "dir").rename(root / "Dir")


def puts_a_directory_where_a_file_was(root: Path) -> None:
    (root / "a.txt").unlink()
    put(root, {"a.txt/inside": "x", "a.txt/deep/er": "y"})


def puts_a_file_where_a_directory_was(root: Path) -> None:
    (root / "dir/deep/c.bin").unlink()
    (root / "dir/deep").rmdir()
    (root / "dir/b.txt").unlink()
    (root / "dir").rmdir()
    put(root, {"dir": "a file now"})


def puts_a_link_where_a_directory_was(root: Path) -> None:
    (root / "dir").rename(root / "moved")
    (root / "dir").symlink_to("moved")


def puts_a_link_where_a_file_was(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to("zero")


def changes_only_modes(root: Path) -> None:
    (root / "a.txt").chmod(0o755)
    (root / "zero").chmod(0o600)
    (root / "dir/b.txt").chmod(0o444)


def keeps_the_size(root: Path) -> None:
    put(root, {"a.txt": "eno\n", "dir/b.txt": "owt\n"})


HAPPENINGS: dict[str, Callable[[Path], None]] = {
    found.__name__.replace("_", " "): found
    for found in (
        *(rewrites, deletes, renames_by_case, puts_a_directory_where_a_file_was, puts_a_file_where_a_directory_was),
        *(puts_a_link_where_a_directory_was, puts_a_link_where_a_file_was, changes_only_modes, keeps_the_size),
    )
}


@pytest.mark.promise(9)
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
@pytest.mark.parametrize("happening", HAPPENINGS)
def test_a_change_is_seen_at_once_and_goes_both_ways(project: Workspace, happening: str, tracked: bool) -> None:
    """Everything here happens within one tick of the clock, without any rest: no date tells what has changed."""
    put(project.root, HELD)
    if tracked:
        commit(project.root)
    first, first_picture = take(project), picture(project.root)
    HAPPENINGS[happening](project.root)
    second, second_picture = take(project), picture(project.root)
    assert (second.tree, second.changes > 0) == (tree_by_git(project.root), second.tree != first.tree)
    for checkpoint, expected in ((first, first_picture), (second, second_picture), (first, first_picture)):
        back(project, checkpoint)
        assert picture(project.root) == expected
        assert take(project).tree == checkpoint.tree


def test_a_change_that_keeps_size_and_date_is_seen(project: Workspace) -> None:
    path = project.root / "a.txt"
    put(project.root, {"a.txt": "one"})
    commit(project.root)
    take(project)
    for number in range(20):
        status = path.stat()
        path.write_text(f"{number:03}")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert take(project).tree == tree_by_git(project.root), number


def test_touching_a_file_changes_nothing(project: Workspace) -> None:
    put(project.root, HELD)
    commit(project.root)
    first = take(project)
    os.utime(project.root / "a.txt", (1, 1))
    second = take(project)
    assert (second.tree, second.changes, second.changed) == (first.tree, 0, [])


def test_a_checkpoint_names_what_changed_since_the_one_before(project: Workspace) -> None:
    put(project.root, HELD)
    commit(project.root)
    take(project)
    put(project.root, {"a.txt": "other", "new": "new"})
    (project.root / "zero").unlink()
    assert take(project).changed == ["a.txt", "new", "zero"]
    listed = holdfast.checkpoints(project, touching=str(project.root / "zero")).checkpoints
    assert [found.changes for found in listed] == [3]


def test_edits_made_through_bash_missing(project: Workspace) -> None:
    """A report about another tool: only what its own edit tool wrote came back."""
    put(project.root, HELD)
    first, before = take(project), picture(project.root)
    subprocess.run(
        "echo more >> a.txt; mv zero nil; mkdir x; cp a.txt x; rm -r dir", shell=True, cwd=project.root, check=True
    )
    second, after = take(project), picture(project.root)
    back(project, first)
    assert picture(project.root) == before
    back(project, second)
    assert picture(project.root) == after


def test_deletions_missing(project: Workspace) -> None:
    """A report about another tool: files that were deleted before a checkpoint were there again after its restore."""
    put(project.root, HELD)
    commit(project.root)
    (project.root / "a.txt").unlink()
    made = take(project)
    git(project.root, "checkout", "-q", "--", "a.txt")
    back(project, made)
    assert not (project.root / "a.txt").exists()


# What git is told to see and not to see.


def test_ignored_files_are_left_alone(project: Workspace) -> None:
    put(project.root, {".gitignore": "*.log\nbuild/\n", "x.log": "log", "build/out": "out", "a": "a"})
    put(project.root, {".git/info/exclude": "mine\n", "mine": "mine"})
    made = take(project)
    assert made.tree == tree_by_git(project.root)
    put(project.root, {"x.log": "more", "build/out": "more", "mine": "more", "a": "b"})
    assert back(project, made).paths == ["a"]
    assert {(project.root / name).read_text() for name in ("x.log", "build/out", "mine")} == {"more"}


def test_the_users_own_list_of_what_is_ignored_counts(project: Workspace, home: Path) -> None:
    put(home, {".config/git/ignore": "*.mine\n"})
    put(project.root, {"x.mine": "x", "a": "a"})
    assert take(project).tree == tree_by_git(project.root)


def test_tracked_files_that_are_ignored_are_kept(project: Workspace) -> None:
    put(project.root, {".gitignore": "*.log\n", "x.log": "one", "y.log": "not tracked"})
    git(project.root, "add", "-f", "x.log")
    commit(project.root)
    first = take(project)
    put(project.root, {"x.log": "two", "z.log": "forced later"})
    git(project.root, "add", "-f", "z.log")
    second = take(project)
    assert second.tree == tree_by_git(project.root)
    back(project, first)
    assert (project.root / "x.log").read_text() == "one"
    assert (project.root / "y.log").read_text() == "not tracked"
    back(project, second)
    assert (project.root / "z.log").read_text() == "forced later"


def test_ignored_files_that_the_user_lists_are_kept_too(project: Workspace) -> None:
    put(project.root, {".gitignore": "*.env\nlocal/\n", "a.env": "one", "local/x.txt": "two", "local/y.bin": "three"})
    holdfast.config_set(project, "checkpoint.include", "*.env, local/**/*.txt")
    del project.settings
    made = take(project)
    put(project.root, {"a.env": "1", "local/x.txt": "2", "local/y.bin": "3"})
    back(project, made)
    found = [(project.root / name).read_text() for name in ("a.env", "local/x.txt", "local/y.bin")]
    assert found == ["one", "two", "3"]


def test_a_listed_pattern_reaches_nothing_outside_and_nothing_of_git(project: Workspace) -> None:
    put(project.root.parent, {"outside.env": "secret"})
    put(project.root, {"a": "a"})
    holdfast.config_set(project, "checkpoint.include", "../*.env, /etc/hostname, .git/*, .git/**/HEAD")
    del project.settings
    assert take(project).tree == tree_by_git(project.root)


def test_files_above_the_limit_are_named_and_never_touched(project: Workspace) -> None:
    holdfast.config_set(project, "checkpoint.file_limit", "1")
    del project.settings
    put(project.root, {"large": b"x" * 1_000_001, "small": b"x" * 1_000_000})
    made = take(project)
    assert made.skipped == ["large"]
    put(project.root, {"large": b"y" * 1_000_002, "small": "changed"})
    assert back(project, made).paths == ["small"]
    assert (project.root / "large").read_bytes() == b"y" * 1_000_002
    (project.root / "large").write_bytes(b"now it is small")
    back(project, made)
    assert (project.root / "large").read_bytes() == b"now it is small"


def test_the_command_says_what_it_did_not_keep(repository: Path, project: Workspace) -> None:
    holdfast.config_set(project, "checkpoint.file_limit", "1")
    put(repository, {"large": b"x" * 1_000_001})
    done = Command.run("checkpoint", directory=repository).ok()
    assert done.out.startswith("cp-")
    assert len(done.out.split()) == 1
    assert "Not kept: large" in done.err


def test_files_above_the_limit_in_all_are_skipped(project: Workspace) -> None:
    holdfast.config_set(project, "checkpoint.total_limit", "1")
    del project.settings
    put(project.root, {f"f{number}": bytes([number]) * 400_000 for number in range(4)})
    made = take(project)
    assert len(made.skipped) == 2
    put(project.root, dict.fromkeys(made.skipped, "kept as it is"))
    back(project, made)
    assert {(project.root / name).read_text() for name in made.skipped} == {"kept as it is"}


def test_a_tracked_file_that_grew_above_the_limit_is_not_replaced_by_its_old_version(project: Workspace) -> None:
    holdfast.config_set(project, "checkpoint.file_limit", "1")
    del project.settings
    put(project.root, {"data": "small", "a": "a"})
    commit(project.root)
    take(project)
    put(project.root, {"data": b"x" * 2_000_000})
    made = take(project)
    put(project.root, {"data": b"y" * 2_000_000, "a": "b"})
    assert back(project, made).paths == ["a"]
    assert (project.root / "data").read_bytes() == b"y" * 2_000_000


def test_what_is_neither_file_nor_link_is_left_out(project: Workspace) -> None:
    put(project.root, {"a": "a"})
    os.mkfifo(project.root / "pipe")
    made = take(project)
    put(project.root, {"a": "b"})
    assert back(project, made).paths == ["a"]
    assert (project.root / "pipe").is_fifo()


def test_only_named_files_are_looked_at_when_they_are_named(project: Workspace) -> None:
    put(project.root, HELD)
    take(project)
    put(project.root, {"a.txt": "seen", "zero": "not looked at"})
    named = holdfast.checkpoint(project, files=("a.txt", "dir/b.txt", "not there")).checkpoint
    assert named.changed == ["a.txt"]
    assert take(project).changed == ["zero"]
    with pytest.raises(WrongUsage):
        holdfast.checkpoint(project, files=("../outside",))


@pytest.mark.promise(9)
def test_a_named_file_that_was_too_large_and_is_not_any_more_comes_back(project: Workspace) -> None:
    holdfast.config_set(project, "checkpoint.file_limit", "1")
    del project.settings
    put(project.root, {"data": b"x" * 2_000_000, "log": b"x" * 2_000_000})
    assert take(project).skipped == ["data", "log"]
    put(project.root, {"data": "small"})
    (project.root / "log").unlink()
    made = holdfast.checkpoint(project, files=("data", "log")).checkpoint
    assert (made.changed, made.skipped) == (["data"], [])
    put(project.root, {"data": "changed"})
    assert back(project, made).left == {}
    assert (project.root / "data").read_text() == "small"


def test_what_was_too_large_in_a_directory_is_forgotten_where_a_file_stands_now(project: Workspace) -> None:
    holdfast.config_set(project, "checkpoint.file_limit", "1")
    del project.settings
    put(project.root, {"d/large": b"x" * 2_000_000})
    assert take(project).skipped == ["d/large"]
    shutil.rmtree(project.root / "d")
    put(project.root, {"d": "file"})
    made = holdfast.checkpoint(project, files=("d",)).checkpoint
    assert (made.changed, made.skipped) == (["d"], [])
    put(project.root, {"d": "other"})
    assert back(project, made).left == {}


# Repositories of every kind.


def test_a_repository_without_a_commit_has_checkpoints(project: Workspace) -> None:
    put(project.root, HELD)
    git(project.root, "add", "a.txt")
    made = comes_back(project)
    assert (made.commit, made.under_way) == (None, None)
    assert made.branch == git(project.root, "symbolic-ref", "--short", "HEAD")


@pytest.mark.promise(9)
def test_a_directory_without_a_repository_has_checkpoints(tmp_path: Path, clock: TickingClock) -> None:
    root = tmp_path / "no repository"
    root.mkdir()
    put(root, HELD)
    links(root)
    with holdfast.open(root, clock=clock) as workspace:
        holdfast.init(workspace)
        before = picture(root)
        made = take(workspace)
        assert (made.commit, made.branch, made.staged) == (None, None, None)
        wreck(root)
        back(workspace, made)
        assert picture(root) == before
        holdfast.undo(workspace)
        assert sorted(picture(root)) == [b"wreck.txt", b"wrecked", b"wrecked/deep", b"wrecked/deep/file"]
        assert not (root / ".git").exists()


def test_where_head_stands_is_recorded(project: Workspace) -> None:
    put(project.root, HELD)
    first = commit(project.root)
    git(project.root, "checkout", "-q", "-b", "topic/one")
    made = comes_back(project)
    assert (made.commit, made.branch) == (first, "topic/one")
    git(project.root, "pack-refs", "--all")
    assert take(project).commit == first
    git(project.root, "checkout", "-q", "--detach")
    detached = take(project)
    assert (detached.commit, detached.branch) == (first, None)


def test_a_merge_with_conflicts_under_way_is_recorded_and_left_alone(project: Workspace) -> None:
    root = project.root
    put(root, {"a": "base\n", "b": "b\n"})
    commit(root)
    git(root, "branch", "other")
    put(root, {"a": "ours\n"})
    commit(root)
    git(root, "checkout", "-q", "other")
    put(root, {"a": "theirs\n", "b": "theirs\n"})
    commit(root)
    take(project)
    merging = subprocess.run(["git", "-C", str(root), *WHO, "merge", "-q", "-"], capture_output=True, check=False)
    assert merging.returncode != 0
    before, repository = picture(root), insides(root)
    made = take(project)
    assert (made.under_way, made.staged) == ("merge", None)
    assert made.tree == tree_by_git(root)
    wreck(root)
    back(project, made)
    assert picture(root) == before
    assert insides(root) == repository
    assert "UU a" in git(root, "status", "--porcelain")


UNDER_WAY = {
    "rebase": ("rebase", "-q", "topic"),
    "cherry-pick": ("cherry-pick", "topic"),
    "revert": ("revert", "--no-edit", "HEAD~1"),
}


@pytest.mark.parametrize("word", UNDER_WAY)
def test_whatever_is_under_way_is_recorded(project: Workspace, word: str) -> None:
    root = project.root
    put(root, {"a": "base\n"})
    commit(root)
    git(root, "checkout", "-q", "-b", "topic")
    put(root, {"a": "topic\n"})
    commit(root)
    git(root, "checkout", "-q", "-")
    for text in ("one\n", "two\n"):
        put(root, {"a": text})
        commit(root)
    assert take(project).under_way is None
    done = subprocess.run(["git", "-C", str(root), *WHO, *UNDER_WAY[word]], capture_output=True, check=False)
    assert done.returncode != 0
    assert take(project).under_way == word


@pytest.mark.parametrize("kind", ["links", "modes"])
def test_a_sha256_repository_has_checkpoints(tmp_path: Path, clock: TickingClock, kind: str) -> None:
    root = tmp_path / "sha256"
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(root)], check=True)
    with holdfast.open(root, clock=clock) as workspace:
        TREES[kind](root)
        commit(root)
        assert len(comes_back(workspace).tree) == 64
        put(root, {"dir/more": "more"})
        comes_back(workspace)
        git(root, "fsck", "--full")


@pytest.mark.parametrize("option", ["--depth=1", "--filter=blob:none", "--shared"])
def test_a_partial_or_borrowing_clone_has_checkpoints(
    project: Workspace, tmp_path: Path, clock: TickingClock, option: str
) -> None:
    put(project.root, HELD)
    commit(project.root)
    put(project.root, {"a.txt": "second"})
    commit(project.root)
    git(project.root, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    source = str(project.root) if option == "--shared" else f"file://{project.root}"
    subprocess.run(["git", "clone", "-q", option, source, str(clone)], check=True, capture_output=True)
    with holdfast.open(clone, clock=clock) as workspace:
        put(clone, {"new": "new"})
        comes_back(workspace)


def test_a_split_index_is_read_and_left_as_it_is(project: Workspace) -> None:
    put(project.root, HELD)
    commit(project.root)
    git(project.root, "update-index", "--split-index")
    put(project.root, {"a.txt": "staged"})
    git(project.root, "add", "a.txt")
    put(project.root, {"zero": "not staged", "new": "untracked"})
    before = insides(project.root)
    assert any(name.startswith("sharedindex.") for name in before)
    comes_back(project)
    assert insides(project.root) == before


def test_what_a_sparse_checkout_leaves_out_is_neither_lost_nor_brought_in(project: Workspace) -> None:
    root = project.root
    put(root, {"in/a": "a", "out/b": "b", "top": "t"})
    commit(root)
    git(root, "sparse-checkout", "set", "in")
    put(root, {"in/a": "changed", "in/new": "new"})
    before = picture(root)
    made = take(project)
    put(root, {"in/a": "again"})
    back(project, made)
    assert picture(root) == before
    assert not (root / "out").exists()
    assert git(root, "status", "--porcelain") == "M in/a\n?? in/new"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_changes_that_git_was_told_not_to_see_are_kept(project: Workspace, flag: str) -> None:
    put(project.root, HELD)
    commit(project.root)
    git(project.root, "update-index", flag, "a.txt")
    put(project.root, {"a.txt": "hidden from git"})
    made = take(project)
    before = insides(project.root)
    put(project.root, {"a.txt": "something else"})
    take(project)
    back(project, made)
    assert (project.root / "a.txt").read_text() == "hidden from git"
    assert insides(project.root) == before


def test_files_that_are_only_intended_to_be_added_are_kept(project: Workspace) -> None:
    put(project.root, {**HELD, "intended": "content"})
    git(project.root, "add", "-N", "intended")
    comes_back(project)


def test_a_removed_but_not_deleted_file_is_kept(project: Workspace) -> None:
    put(project.root, HELD)
    commit(project.root)
    git(project.root, "rm", "-q", "--cached", "a.txt")
    comes_back(project)


# Repositories inside, and worktrees beside.


@pytest.mark.parametrize("with_commit", [True, False], ids=["with a commit", "without a commit"])
def test_a_nested_repository_is_its_own(project: Workspace, with_commit: bool) -> None:
    nested = project.root / "vendor" / "nested"
    put(project.root, HELD)
    nested.mkdir(parents=True)
    git(nested, "init", "-q")
    put(nested, {"inner": "inner", "deep/er": "deeper"})
    if with_commit:
        commit(nested)
    made = take(project)
    put(nested, {"inner": "changed", "new": "new"})
    put(project.root, {"a.txt": "changed"})
    inside = picture(nested)
    assert back(project, made).paths == ["a.txt"]
    assert picture(nested) == inside


def test_the_head_of_a_submodule_is_recorded_and_its_files_are_left_alone(project: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    put(other, {"x": "x"})
    head = commit(other)
    git(project.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    commit(project.root)
    first = take(project)
    put(project.root / "sub", {"y": "y"})
    moved = commit(project.root / "sub")
    second = take(project)
    heads = [git(project.root, "cat-file", "blob", found.beside).encode() for found in (first, second)]
    assert [TreeMetadata.decode(data).links[b"sub"] for data in heads] == [head, moved]
    back(project, first)
    assert (project.root / "sub/y").read_text() == "y"
    assert git(project.root / "sub", "rev-parse", "HEAD") == moved


def test_a_linked_worktree_has_its_own_checkpoints(project: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    put(project.root, HELD)
    commit(project.root)
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        put(linked.root, {"a.txt": "linked", "only here": "x"})
        there, here = comes_back(linked), comes_back(project)
        assert there.worktree != here.worktree
        assert (there.number > 0, here.number > 0) == (True, True)
        listed = [holdfast.checkpoints(found).checkpoints for found in (linked, project)]
        assert {made.worktree for made in listed[0]} == {there.worktree}
        assert {made.worktree for made in listed[1]} == {here.worktree}


def test_a_checkpoint_made_in_a_linked_worktree_restored_into_the_wrong_tree(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    """A report about another tool. Here it is refused, unless it is asked for with force."""
    put(project.root, HELD)
    commit(project.root)
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        put(linked.root, {"a.txt": "linked"})
        made = take(linked)
    before = picture(project.root)
    with pytest.raises(Refused) as refused:
        back(project, made)
    assert str(tmp_path / "linked") in str(refused.value.facts)
    assert picture(project.root) == before
    assert holdfast.checkpoints(project).checkpoints == []
    holdfast.restore(project, made.id, force=True)
    assert (project.root / "a.txt").read_text() == "linked"


# Names, runs, and how they are found.


def test_a_checkpoint_knows_its_run_and_works_without_one(project: Workspace) -> None:
    assert take(project).run is None
    run = holdfast.start(project, "goal").run
    holdfast.decide(project, "this")
    made = take(project)
    assert (made.run, made.seq) == (run.id, 2)


def test_a_checkpoint_is_found_by_name_number_and_beginning(project: Workspace) -> None:
    put(project.root, {"a": "one"})
    made = take(project, "before")
    put(project.root, {"a": "two"})
    take(project)
    for word in ("before", made.id, made.id[:-2]):
        put(project.root, {"a": "two"})
        holdfast.restore(project, word)
        assert (project.root / "a").read_text() == "one", word


def test_nothing_is_kept_where_holdfast_is_off(project: Workspace) -> None:
    holdfast.off(project)
    with pytest.raises(Refused):
        take(project)


def test_a_difference_shows_code_and_what_the_run_learned(project: Workspace) -> None:
    holdfast.start(project, "goal")
    put(project.root, {"a": "one\n", "b": "b\n"})
    first = take(project)
    holdfast.decide(project, "use two")
    put(project.root, {"a": "two\n", "b": "c\n"})
    second = take(project)
    put(project.root, {"a": "three\n"})
    found = holdfast.diff(project, first.id, second.id)
    assert "-one\n+two\n" in found.code
    assert any("use two" in line for line in found.state)
    here = holdfast.diff(project, second.id, None, (str(project.root / "a"),))
    assert "-two\n+three\n" in here.code
    assert "b/b" not in here.code
    assert holdfast.diff(project, second.id, None, (str(project.root / "b"),)).code == ""
