"""Cut the power of a real file system under whole verbs: what was acknowledged is there when it comes back."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.cases import environment, in_project
from tests.crash.checkpoint_cases import Scene, first_work, git, later_work
from tests.faults import powercut
from tests.faults.report import Outcome

pytestmark = [pytest.mark.long, pytest.mark.promise(2)]
FILESYSTEMS = pytest.mark.parametrize("filesystem", ["ext4", "xfs"])


def skip_where_power_cannot_be_cut(filesystem: str) -> None:
    if reason := powercut.available(filesystem):
        pytest.skip(f"NOT PROVED HERE: {reason}")


@FILESYSTEMS
@pytest.mark.parametrize("verb", ["checkpoint", "restore", "restore many", "undo", "tidy"])
def test_an_acknowledged_checkpoint_or_way_back_survives_every_power_cut(verb: str, filesystem: str) -> None:
    skip_where_power_cannot_be_cut(filesystem)
    scene = Scene(verb)
    report = powercut.cut_everywhere(
        prepare=scene.prepare, command=scene.command, check=scene.check, filesystem=filesystem, points=30, timeout=120
    )
    report.assert_clean()
    print(verb, filesystem, report.counts)


def a_repository(directory: Path) -> None:
    (directory / "project").mkdir()
    git(directory, "init", "-q")
    first_work(directory / "project")
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "first")
    later_work(directory / "project")


def commit_with_git(directory: Path) -> Sequence[str]:
    who = "git -c user.name=a -c user.email=b -c gc.auto=0"
    return [*in_project(directory), "sh", "-c", f"{who} add -A && {who} commit -q -m second && echo done"]


def the_commit_is_there(outcome: Outcome) -> None:
    if outcome.acknowledged():
        said = subprocess.run(
            ["git", "log", "--format=%s", "-1", "-p", "--", "changed"],
            cwd=outcome.directory / "project",
            env=environment(outcome.directory),
            capture_output=True,
        )
        assert (said.returncode, said.stdout[:6]) == (0, b"second"), said.stderr


@FILESYSTEMS
def test_git_itself_loses_a_commit_to_a_power_cut(filesystem: str) -> None:
    """The measure is no use if it does not catch this: git's defaults do not sync what they acknowledge."""
    skip_where_power_cannot_be_cut(filesystem)
    report = powercut.cut_everywhere(
        prepare=a_repository, command=commit_with_git, check=the_commit_is_there, filesystem=filesystem, points=3
    )
    assert report.violations, report.summary()
