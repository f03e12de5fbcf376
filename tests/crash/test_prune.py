"""Kill, tear and fail `tidy` at the calls by which it changes anything, git's own included: nothing that anybody needs
is lost, and the next one finishes what was begun."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from tests.crash.cases import opened
from tests.crash.checkpoint_cases import Scene, Tree, git, git_of, worktree_of
from tests.crash.modes import FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome

SOME = ("kill", "torn", "ENOSPC")

pytestmark = [
    pytest.mark.promise(1, 5, 10, 11),
    pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}"),
]


class Tidying(Scene):
    """A pinned checkpoint, four that may go, one of which holds what a commit rests on, and the last."""

    last: str
    final: Tree

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        root = directory / "project"
        with opened(directory) as workspace:
            holdfast.pin(workspace, self.id)
            for number in range(4):
                (root / "noise").write_bytes(os.urandom(20_000))
                (root / "committed").write_text(f"{number}\n")
                holdfast.checkpoint(workspace)
            git(directory, "commit", "-q", "--only", "-m", "ours alone", "--", "changed")
            (root / "noise").unlink()
            self.last = holdfast.checkpoint(workspace).checkpoint.id
        self.final = worktree_of(directory)
        self.git = git_of(directory)

    def check(self, outcome: Outcome) -> None:
        self._check_outside(outcome)
        directory = outcome.directory
        self._is(directory, self.final, "the worktree")
        with opened(directory) as workspace:
            assert holdfast.verify(workspace, deep=True).problems == []
            done = holdfast.tidy(workspace, most=1)
            assert (done.kept, done.unknown) == (2, 0)
            assert done.stored < 30_000  # the pack that git has just relied on waits
            assert holdfast.verify(workspace, deep=True).problems == []
            holdfast.restore(workspace, self.id)
            self._is(directory, self.then, "the pinned checkpoint")
            holdfast.restore(workspace, self.last)
            self._is(directory, self.final, "the last checkpoint")
        left = [path.name for path in (directory / "project/.git/objects/pack").glob("*.away")]
        assert left == [], f"left in the repository: {left}"
        self._check_afterwards(directory)


def tidied(mode: str, points: int | None) -> None:
    scene = Tidying("tidy")
    explore(
        prepare=scene.prepare, command=scene.command, check=scene.check, modes=(mode,), points=points, timeout=60
    ).assert_clean()


@pytest.mark.parametrize("mode", SOME)
def test_a_broken_tidying_loses_nothing_and_is_finished_by_the_next_one(mode: str) -> None:
    tidied(mode, points=3)


@each_tier(3)
@pytest.mark.parametrize("mode", [*KILLS, *FAILURES])
def test_a_tidying_loses_nothing_wherever_it_breaks_off(mode: str, points: int | None) -> None:
    tidied(mode, points=points)
