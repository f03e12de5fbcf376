"""Kill what changes a Go Team run at the calls by which it changes anything: also between a file's writing and its
renaming.

Every file can be read at every moment, nothing that was acknowledged is lost, and the next command makes the files say
what the journal says. The tier of every commit tries a few points; `-m long` tries more, `-m hours` all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.layouts.goteam import schema
from holdfast.project.workspace import Workspace
from holdfast.system import shared_files
from tests.crash.cases import GOAL, Case, an_empty_project, opened, verb
from tests.crash.modes import ENDS, FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.report import Outcome

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


def a_team(directory: Path) -> None:
    an_empty_project(directory)
    with opened(directory) as workspace:
        holdfast.start(workspace, GOAL, layout="go-team")
        holdfast.complete_step(workspace, "init")
        holdfast.action(workspace, "the first")


def run_of(workspace: Workspace) -> holdfast.Run:
    (run,) = holdfast.runs(workspace).runs
    return run


CASES = [
    Case(
        "action",
        a_team,
        verb("action", "the second", "--file", "main.go"),
        lambda workspace: run_of(workspace).actions[-1].text == "the second",
    ),
    Case(
        "step complete",
        a_team,
        verb("step", "complete", "2"),
        lambda workspace: [kept.number for kept in run_of(workspace).standing.kept] == ["01", "02"],
    ),
]
SOME = ("ENOSPC", "EIO", "sticky:ENOSPC")
BY_NAME = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))


def check(case: Case, outcome: Outcome) -> None:
    """What is there can be read; then the next command makes the files say what the journal says."""
    root = outcome.directory / "project" / "checkpoints"
    for path in root.rglob("*.json"):
        assert isinstance(json.loads(path.read_bytes()), dict), path
    with opened(outcome.directory) as workspace:
        if outcome.acknowledged():
            assert case.done(workspace), f"acknowledged and lost; stdout: {outcome.stdout!r}"
        holdfast.status(workspace)
        assert workspace.warnings == []
        run = run_of(workspace)
        state = json.loads((root / run.id / "state.json").read_bytes())
        assert state["context"]["last_action"] == schema.last_action(run)
        (entry,) = json.loads((root / "sessions.json").read_bytes())["sessions"]
        assert entry["progress"] == schema.progress(run)
        assert sorted(path.stem for path in (root / run.id).glob("cp-*.json")) == [
            kept.id for kept in run.standing.kept
        ]
        for path in (root / run.id).glob("*.json"):
            shared_files.settle(
                path
            )  # as the next exchange does after a while: who could not remove his own left it to that
        assert [path for path in (root / run.id).iterdir() if path.name.startswith(".")] == []
    case.check(outcome)


def break_it(case: Case, modes: tuple[str, ...], points: int | None) -> None:
    case.break_it(modes, points, lambda outcome: check(case, outcome))


@pytest.mark.promise(1)
@BY_NAME
def test_trap_kill_between_temp_write_and_rename_leaves_every_file_whole(case: Case) -> None:
    break_it(case, ENDS, points=4)


@pytest.mark.promise(5)
@BY_NAME
def test_a_failing_system_call_costs_nothing_and_the_next_command_brings_the_files_up_to_date(case: Case) -> None:
    break_it(case, SOME, points=2)


@each_tier(8)
@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_at_any_point_leaves_every_file_of_a_team_whole(case: Case, points: int | None) -> None:
    break_it(case, KILLS, points=points)


@each_tier(3)
@pytest.mark.promise(5)
@BY_NAME
def test_any_failing_system_call_costs_a_team_nothing(case: Case, points: int | None) -> None:
    break_it(case, FAILURES, points=points)
