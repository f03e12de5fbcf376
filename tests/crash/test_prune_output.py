"""Kill, tear and fail `tidy` while it thins out tool output, removes what was exported and gives space back: every
event is there, each with what its tools gave or its size, and the next tidying finishes what was begun."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Draft
from holdfast.maintenance.repair.quarantine import list_originals
from holdfast.project.workspace import Workspace
from tests.crash.cases import an_empty_project, opened, verb
from tests.crash.modes import FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome

SIZE, CALLS = 4_000, 6
MARK = f"[{SIZE:,} bytes of tool output, thinned out]"

pytestmark = [
    pytest.mark.promise(1, 5, 11),
    pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}"),
]


class Full:
    """A store above its cap: ended runs with much output, one of them exported, one that is open, and ballast."""

    def prepare(self, directory: Path) -> None:
        an_empty_project(directory)
        with opened(directory) as workspace:
            self.runs = [self._worked(workspace, f"goal {number}") for number in range(4)]
            (workspace.place / "faces").mkdir(mode=0o700)
            (workspace.place / "faces" / "ballast").write_bytes(bytes(1_100_000))
            holdfast.export(workspace, self.runs[0], directory / "exported", raw=True)
            holdfast.start(workspace, "open")
            self._put_aside(workspace)
            for key, value in (("store.cap", "1"), ("run.most", "4")):
                holdfast.config_set(workspace, key, value)

    def _put_aside(self, workspace: Workspace) -> None:
        """An original that has lain aside long enough."""
        original = workspace.place / "aside" / "journal-20200101-120000-1"
        original.mkdir(parents=True, mode=0o700)
        for name in ("journal.db", "journal.db-wal"):
            (original / name).write_bytes(bytes(50_000))
        os.utime(original, (0, 0))

    def _worked(self, workspace: Workspace, goal: str) -> str:
        run = holdfast.start(workspace, goal).run.id
        with workspace.writing() as journal:
            journal.append(run, *(self._draft(goal, number) for number in range(CALLS)))
        holdfast.complete(workspace)
        return run

    def _draft(self, goal: str, number: int) -> Draft:
        return Draft("call.kept", {"agent": "a", "event": "b", "call": self._text(goal, number)})

    def _text(self, goal: str, number: int) -> str:
        return "".join(random.Random(f"{goal}{number}").choices("abcdefghijklmnopqrstuvwxyz0123456789", k=SIZE))

    def check(self, outcome: Outcome) -> None:
        with opened(outcome.directory) as workspace:
            assert holdfast.verify(workspace, deep=True).problems == []
            self._look(workspace)
            holdfast.tidy(workspace)
            for original in list_originals(workspace):  # what a kill left of it is not the database any more
                assert not (original.path / "journal.db").exists()
            assert self._look(workspace) == 3 * CALLS, "all is thinned out now"
            assert holdfast.verify(workspace, deep=True).problems == []
            there = {run.id for run in holdfast.runs(workspace).runs}
            assert self.runs[0] not in there, "it was exported, and there are too many"
            assert set(self.runs[1:]) <= there

    def _look(self, workspace: Workspace) -> int:
        """Every event is there; answers with how many are thinned out."""
        found = 0
        there = {run.id for run in holdfast.runs(workspace).runs}
        for number, run in enumerate(self.runs):
            if run not in there:
                continue
            calls = [event for event in holdfast.log(workspace, run=run).events if event.kind == "call.kept"]
            assert len(calls) == CALLS
            for place, event in enumerate(calls):
                whole = self._text(f"goal {number}", place)
                assert event.body["call"] in (MARK, whole), "neither whole nor thinned out"
                found += event.body["call"] == MARK
        return found


def thinned(mode: str, points: int | None) -> None:
    full = Full()
    explore(
        prepare=full.prepare, command=verb("tidy"), check=full.check, modes=(mode,), points=points, timeout=60
    ).assert_clean()


def test_a_broken_thinning_loses_no_event_and_is_finished_by_the_next_one() -> None:
    thinned("torn", points=4)


@each_tier(3)
@pytest.mark.parametrize("mode", [*KILLS, *FAILURES])
def test_a_thinning_loses_no_event_wherever_it_breaks_off(mode: str, points: int | None) -> None:
    thinned(mode, points=points)
