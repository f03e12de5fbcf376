"""Kill what changes the orchestrator's session file at the calls by which it changes anything.

The file can be read at every moment, nothing that was acknowledged is lost, and the next command brings file and
journal together. The tier of every commit tries a few points; `-m long` tries more, `-m hours` all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.layouts.orchestrator import HISTORY, SESSION
from tests.crash.cases import GOAL, Case, an_empty_project, opened, verb
from tests.crash.modes import ENDS, FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.report import Outcome
from tests.orchestrator_project import agree

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


def a_project_with_a_session(directory: Path) -> None:
    an_empty_project(directory)
    with opened(directory) as workspace:
        holdfast.start(workspace, GOAL, layout="orchestrator")
        holdfast.start_agent(workspace, "code", "Write it")
        holdfast.decide(workspace, "Use SQLite", because="one file")


def a_project_with_an_ended_session(directory: Path) -> None:
    a_project_with_a_session(directory)
    with opened(directory) as workspace:
        holdfast.complete(workspace)


def runs_of(workspace: holdfast.Workspace) -> dict[str, holdfast.Run]:
    return {run.goal: run for run in holdfast.runs(workspace).runs}


CASES = [
    Case(
        "agent complete",
        a_project_with_a_session,
        verb("agent", "complete", "code-1", "--result", "ok"),
        lambda workspace: [worker.result for worker in runs_of(workspace)[GOAL].workers] == ["ok"],
    ),
    Case(
        "complete",
        a_project_with_a_session,
        verb("complete"),
        lambda workspace: runs_of(workspace)[GOAL].status == "completed",
    ),
    Case(
        "reopen",
        a_project_with_an_ended_session,
        verb("reopen"),
        lambda workspace: runs_of(workspace)[GOAL].status == "active",
    ),
    Case(
        "start another",
        a_project_with_a_session,
        verb("start", "second", "--layout", "orchestrator"),
        lambda workspace: runs_of(workspace)["second"].is_open and not runs_of(workspace)[GOAL].is_open,
    ),
    Case(
        "start in a new project",
        an_empty_project,
        verb("start", GOAL, "--layout", "orchestrator"),
        lambda workspace: runs_of(workspace)[GOAL].status == "created",
    ),
]
SOME = ("ENOSPC", "EIO", "sticky:ENOSPC")
BY_NAME = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))


def check(case: Case, outcome: Outcome) -> None:
    """What is there can be read; then the next command makes the file say what the journal says, and case goes on."""
    root = outcome.directory / "project"
    for path in [root / SESSION, *(root / HISTORY).glob("*.json")]:
        assert not path.exists() or json.loads(path.read_bytes())["schema_version"] == "1.0"
    with opened(outcome.directory) as workspace:
        if workspace.exists:
            if outcome.acknowledged():
                assert case.done(workspace), f"acknowledged and lost; stdout: {outcome.stdout!r}"
            holdfast.status(workspace)
            assert workspace.warnings == []
            shown = [agree(workspace, run.id) for run in runs_of(workspace).values()]
            assert (root / SESSION).exists() == any(run.is_open for run in shown)
            assert len(list((root / HISTORY).glob("*.json"))) == sum(run.archived is not None for run in shown)
            assert sum(run.is_open for run in shown) <= 1
    case.check(outcome)


def break_it(case: Case, modes: tuple[str, ...], points: int | None) -> None:
    case.break_it(modes, points, lambda outcome: check(case, outcome))


@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_leaves_a_file_that_can_be_read_and_the_next_command_brings_it_up_to_date(case: Case) -> None:
    break_it(case, ENDS, points=3)


@pytest.mark.promise(5)
@BY_NAME
def test_a_failing_system_call_costs_nothing_and_the_next_command_brings_it_up_to_date(case: Case) -> None:
    break_it(case, SOME, points=2)


@each_tier(8)
@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_at_any_point_leaves_a_file_that_can_be_read(case: Case, points: int | None) -> None:
    break_it(case, KILLS, points=points)


@each_tier(3)
@pytest.mark.promise(5)
@BY_NAME
def test_any_failing_system_call_costs_a_session_file_nothing(case: Case, points: int | None) -> None:
    break_it(case, FAILURES, points=points)
