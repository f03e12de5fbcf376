"""Where the record and git do not agree, and what is not committed: told in the brief, and only what is so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Bearings
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.drift import find_drift


def git(directory: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", *who, *arguments], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def kept(repository: Path) -> Path:
    """A repository with a commit, a run, and a checkpoint of what was committed."""
    (repository / "a.txt").write_text("one\n")
    (repository / "b.txt").write_text("two\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "first")
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "Fix it")
        holdfast.checkpoint(workspace)
    return repository


def bearings(directory: Path) -> Bearings:
    with holdfast.open(directory) as workspace:
        run = holdfast.status(workspace).run
        assert run is not None
        return find_drift(workspace, run, 1.0)


def test_nothing_is_told_where_nothing_has_changed(kept: Path) -> None:
    assert bearings(kept) == Bearings()


def test_files_that_somebody_changed_since_are_named(kept: Path) -> None:
    (kept / "a.txt").write_text("other\n")
    (kept / "new.txt").write_text("new\n")
    os.unlink(kept / "b.txt")
    found = bearings(kept)
    assert found.uncommitted == ["M a.txt", "D b.txt", "A new.txt"]
    assert [line.partition(": ")[2] for line in found.disagreements] == ["a.txt, b.txt, new.txt"]


def test_what_the_record_knows_and_git_has_not_is_uncommitted_but_no_disagreement(kept: Path) -> None:
    (kept / "a.txt").write_text("other\n")
    with holdfast.open(kept) as workspace:
        holdfast.checkpoint(workspace)
    assert bearings(kept) == Bearings([], ["M a.txt"])


def test_commits_that_came_are_counted(kept: Path) -> None:
    before = git(kept, "rev-parse", "HEAD")
    for number in range(2):
        git(kept, "commit", "-qm", f"more {number}", "--allow-empty")
    now = git(kept, "rev-parse", "HEAD")
    assert bearings(kept).disagreements == [f"HEAD was at {before[:12]}, and is at {now[:12]} now: 2 commits came"]


def test_commits_that_were_thrown_away_are_counted(kept: Path) -> None:
    git(kept, "commit", "-qm", "more", "--allow-empty")
    with holdfast.open(kept) as workspace:
        holdfast.checkpoint(workspace)
    git(kept, "reset", "-q", "--hard", "HEAD~1")
    assert [line.partition(" now: ")[2] for line in bearings(kept).disagreements] == ["1 commit no longer in it"]


def test_another_branch_is_told(kept: Path) -> None:
    branch = git(kept, "rev-parse", "--abbrev-ref", "HEAD")
    git(kept, "checkout", "-qb", "other")
    told = f"the last checkpoint was made on branch {branch}; git is on branch other now"
    assert bearings(kept).disagreements == [told]


def test_where_head_holds_nonsense_nothing_is_run_with_it(kept: Path) -> None:
    (kept / ".git/HEAD").write_text("--output=stolen\n")
    found = bearings(kept)
    assert found.uncommitted == []
    assert not (kept / "stolen").exists()


def test_without_a_commit_nothing_is_called_uncommitted(repository: Path) -> None:
    (repository / "a.txt").write_text("one\n")
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "Fix it")
        holdfast.checkpoint(workspace)
    assert bearings(repository) == Bearings()


def test_nobody_is_waited_for_longer_than_one_can_wait(kept: Path) -> None:
    with holdfast.open(kept) as other, holdfast.open(kept) as workspace:
        run = holdfast.status(workspace).run
        assert run is not None
        with shadow_of(other):
            assert find_drift(workspace, run, 0.0) == Bearings(known=False)


def test_what_the_agent_of_the_run_wrote_itself_is_no_disagreement(kept: Path) -> None:
    """A session that was killed in the middle of a turn left no checkpoint of it, but its calls were kept."""
    (kept / "a.txt").write_text("other\n")
    (kept / "b.txt").write_text("other\n")
    with holdfast.open(kept) as workspace:
        holdfast.action(workspace, "Edit: a.txt", files=("a.txt",))
    assert [line.partition(": ")[2] for line in bearings(kept).disagreements] == ["b.txt"]


@pytest.mark.parametrize("paths", [(), ("a.txt",)], ids=["all", "a path"])
@pytest.mark.parametrize("undone", [False, True], ids=["restored", "undone"])
def test_a_way_back_that_somebody_asked_for_is_no_disagreement(
    kept: Path, paths: tuple[str, ...], undone: bool
) -> None:
    (kept / "a.txt").write_text("other\n")
    with holdfast.open(kept) as workspace:
        holdfast.checkpoint(workspace)
        first = holdfast.checkpoints(workspace).checkpoints[-1].id
        holdfast.restore(workspace, first, paths)
        if undone:
            holdfast.undo(workspace)
    assert bearings(kept).disagreements == []
    (kept / "b.txt").write_text("other\n")
    assert [line.partition(": ")[2] for line in bearings(kept).disagreements] == ["b.txt"]


def test_the_brief_tells_it(kept: Path) -> None:
    (kept / "a.txt").write_text("other\n")
    with holdfast.open(kept) as workspace:
        text = holdfast.brief(workspace).text
    assert (
        "## Where the record and git do not agree (seen in the files) [0m]\n- 1 file changed since the last checkpoint"
        in text
    )
    assert "## Changes that are not committed (seen in the files) [0m]\n- M a.txt" in text
