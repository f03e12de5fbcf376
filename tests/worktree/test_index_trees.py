"""The tree that git notes in an index, read without git; and files that are tracked although they are ignored."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.scan import Memory
from holdfast.worktree.user_index import find_recorded
from tests.worktrees import commit, git, put, take

FORMS: dict[str, list[tuple[str, ...]]] = {
    "version 2": [("update-index", "--index-version", "2")],
    "version 4": [("update-index", "--index-version", "4")],
    "split": [("update-index", "--split-index")],
    "untracked cache": [("update-index", "--untracked-cache"), ("status",)],
    "with an end": [("-c", "index.recordEndOfIndexEntries=true", "update-index", "--force-write-index")],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("format", ["sha1", "sha256"])
def test_the_tree_in_an_index_is_the_one_that_git_would_write(tmp_path: Path, form: str, format: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={format}", str(tmp_path)], check=True)
    put(tmp_path, {"a": "a", "TREE": "t", "dir/xTREE": "x", "dir/deep/TREETREETREE": "y", "TREE2/z": "z"})
    commit(tmp_path)
    for command in FORMS[form]:
        git(tmp_path, *command)
    size = 20 if format == "sha1" else 32
    put(tmp_path, {"untracked/TREE": "u"})
    git(tmp_path, "status")
    assert find_recorded((tmp_path / ".git/index").read_bytes(), size) == git(tmp_path, "rev-parse", "HEAD^{tree}")
    put(tmp_path, {"dir/a": "new"})
    git(tmp_path, "add", "dir/a")
    assert find_recorded((tmp_path / ".git/index").read_bytes(), size) is None
    tree = git(tmp_path, "write-tree")
    assert find_recorded((tmp_path / ".git/index").read_bytes(), size) in (tree, None)


def test_an_entry_that_is_only_announced_or_in_conflict_leaves_no_tree(repository: Path) -> None:
    put(repository, {"a": "a"})
    commit(repository)
    put(repository, {"b": "b"})
    git(repository, "add", "--intent-to-add", "b")
    assert find_recorded((repository / ".git/index").read_bytes(), 20) is None


@given(st.lists(st.sampled_from([b"TREE", b"\0\0\0\x08", b"\0" * 4, b"\0001 0\n", b"x" * 20, b"\xff" * 4, b"REUC"])))
def test_no_bytes_are_too_odd_for_it(parts: list[bytes]) -> None:
    found = find_recorded(b"".join(parts), 20)
    assert found is None or len(found) == 40


RULES = "*.log\nbuild/\n"


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "staged"])
def test_what_is_tracked_although_it_is_ignored_is_known_after_every_change_of_the_index(
    project: Workspace, is_committed: bool
) -> None:
    root = project.root

    def follows() -> None:
        if is_committed:
            git(root, "commit", "-q", "--allow-empty", "-m", "more")
        take(project)
        with shadow_of(project) as shadow:
            memory = shadow._load()
            assert isinstance(memory, Memory)
            known = git(root, "ls-files", "-c", "-i", "-z", "--exclude-standard").split("\0")[:-1]
            assert sorted(path.decode() for path in memory.forced) == sorted(known)

    put(root, {".gitignore": RULES, "a.txt": "a", "x.log": "x", "build/out": "o", "later/y.txt": "y", ":z.log": "z"})
    git(root, "add", "-A")
    follows()
    git(root, "add", "-f", "x.log", "build/out")
    follows()
    put(root, {"a.txt": "other"})
    git(root, "add", "a.txt")
    follows()
    git(root, "add", "-f", "./:z.log")
    follows()
    git(root, "rm", "-q", "--cached", "x.log")
    follows()
    put(root, {".gitignore": f"{RULES}later/\n"})
    git(root, "add", "-A")
    follows()
    git(root, "rm", "-q", "--cached", "later/y.txt")
    follows()
    (root / "later/y.txt").unlink()
    (root / "later").rmdir()
    (root / "later").symlink_to("build")
    git(root, "add", "-f", "later")
    follows()


@pytest.mark.parametrize("delete_first", [True, False])
def test_a_tracked_file_that_rules_ignore_since_is_kept_when_it_comes_back(
    project: Workspace, delete_first: bool
) -> None:
    root = project.root
    put(root, {"a.log": "precious", "b": "b"})
    commit(root)
    take(project)
    put(root, {".gitignore": "*.log\n"})
    commit(root)
    take(project)
    (root / "a.log").unlink()
    if delete_first:
        take(project)
    git(root, "checkout", "-q", "a.log")
    made = take(project)
    with shadow_of(project) as shadow:
        assert shadow.reader.find(made.tree, b"a.log") is not None
