"""Promise 22: a first checkpoint looks at everything, and takes nothing in through a directory that becomes a link."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.project.checkpoints.create import look, make_checkpoint, shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import FOLDED
from tests.hostile.swapped_paths import swapped
from tests.promises import Figure
from tests.worktrees import commit, git, take

pytestmark = pytest.mark.promise(22)

TRIES, MANY = 20, 2_000
# What only the directory outside has: content, names of files and of empty directories, permissions, a repository.
THEIRS = (b"of somebody else", b"theirs", b"mode 604 ")


@pytest.fixture
def docs(project: Workspace) -> Path:
    """A directory of the worktree with files that are tracked, changed, and new."""
    directory = project.root / "docs"
    fill(directory, "mine", ["kept", "changed"])
    commit(project.root)
    fill(directory, "mine again", ["changed", "new"])
    holdfast.start(project, "goal")
    return directory


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory with the same names and some more."""
    directory = tmp_path / "outside"
    fill(directory, "of somebody else", ["kept", "changed", "new", "theirs"])
    for path in directory.rglob("*.md"):
        path.chmod(0o604)
    for place in (directory, directory / "deep"):
        (place / "theirs-and-empty").mkdir()
        git(tmp_path, "init", "-q", str(place / "theirs-and-a-repository"))
    return directory


def fill(directory: Path, text: str, names: list[str]) -> None:
    for place in (directory, directory / "deep"):
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            for number in range(5):
                (place / f"{name}-{number}.md").write_text(f"{text} {number}\n")


def everything_kept(root: Path) -> bytes:
    """All objects of the repository, ours among them: files, directories, and what stands beside a tree."""
    every = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(every, cwd=root, capture_output=True, check=True).stdout


@pytest.mark.parametrize("tries", [TRIES, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_first_checkpoint_takes_nothing_in_through_a_directory_that_becomes_a_link(
    tries: int, project: Workspace, docs: Path, outside: Path, figure: Figure
) -> None:
    seen: Counter[bool] = Counter()
    with swapped(docs, outside):
        while seen.total() < tries or (len(seen) < 2 and seen.total() < 10 * tries):
            with shadow_of(project) as shadow:
                shadow.forget()
                try:
                    scan = look(project, shadow)
                except HoldfastError:  # git itself saw that it is a link
                    seen[False] += 1
                    continue
                found = shadow.reader.find(scan.tree, b"docs")
                seen[found is not None and found.is_tree] += 1
                kept = b"".join([scan.beside.encode(), *(data for _, data in shadow.reader.pending.values())])
                assert [word for word in THEIRS if word in kept] == []
                if seen.total() % 10 == 1:
                    make_checkpoint(project, shadow, seen=scan)
    assert len(seen) == 2, f"{seen}: nothing was swapped"
    assert [word for word in THEIRS if word in everything_kept(project.root)] == []
    figure("first checkpoints of a directory that becomes a link", tries)


def test_what_git_reads_once_more_for_its_index_is_written_nowhere(project: Workspace, docs: Path) -> None:
    """It reads by names alone: what it had written would be there, wherever a link has led it."""
    for number in range(FOLDED + 1):
        (docs / f"{number}.md").write_text(f"{number}\n")
    holdfast.checkpoint(project)
    (docs / "changed-0.md").write_text("seen\n")
    with shadow_of(project) as shadow:
        scan = look(project, shadow)
        (docs / "changed-0.md").write_text("not seen\n")
        make_checkpoint(project, shadow, seen=scan)
    kept = everything_kept(project.root)
    assert (b"\nseen\n" in kept, b"not seen\n" in kept) == (True, False)
    assert take(project).changed == ["docs/changed-0.md"], "git's index is not believed where it read something else"
