"""A Go Team session that another program works on: it is shown as its files say, and nothing of it changes by that."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.model import Status
from holdfast.layouts.goteam import screens
from holdfast.layouts.goteam.runs import silent_since
from holdfast.layouts.goteam.schema import stamp
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.go_team_project import DAY, Team, demonstration, put
from tests.sessions import run_of

DEMO = "test-session-001"
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def change(path: Path, **members: Any) -> None:
    put(path, {**json.loads(path.read_text()), **members})


def saves(team: Team, moment: datetime) -> None:
    """The other program saves its session, in which nothing has changed."""
    change(team.root / DEMO / "state.json", saved_at=stamp(moment))


def at_work(team: Team, seconds_ago: int) -> Path:
    """A session that is active, and was last saved some time ago."""
    moment = START - timedelta(seconds=seconds_ago)
    directory = demonstration(team.root, status="active", updated_at=stamp(moment))
    saves(team, moment)
    return directory


def steps(team: Team) -> list[Any]:
    state, manifest = team.read("state.json", DEMO), team.read("manifest.json", DEMO)
    return [state["state"]["current_step"], manifest["current_step"], team.entry(DEMO)["current_step"]]


@pytest.mark.defect("The step of a session was taken from a checkpoint that is newer than its live state, and written")
def test_the_step_of_the_live_state_holds_where_a_checkpoint_is_newer(team: Team) -> None:
    demonstration(team.root)
    ways = holdfast.resume(team.project, DEMO, dry_run=True)
    shown = "\n".join([*screens.resumable_screen([ways.run], {}), *screens.recovery_screen(ways.run, ways.recovery)])
    assert steps(team) == [4, 4, 4]
    assert ("4/9" in shown, "Last step: 4 - implementation" in shown) == (True, True)
    assert team.entry(DEMO)["progress"]["steps_completed"] == 4


def test_without_a_step_in_the_live_state_the_registry_holds_and_then_the_checkpoints(team: Team) -> None:
    directory = demonstration(team.root)
    change(directory / "state.json", state={})
    holdfast.status(team.project)
    assert steps(team) == [4, 4, 4]


@pytest.mark.parametrize("status", ["completed", "failed", "abandoned"])
def test_a_session_that_is_over_has_no_step_that_is_worked_on(team: Team, status: str) -> None:
    demonstration(team.root, status=status)
    assert [step.status for step in run_of(team.project, DEMO).steps] == ["completed"] * 4 + ["pending"] * 5


@pytest.mark.defect("The time of a live state became that of the import, and on the screen that of a checkpoint")
def test_the_time_of_the_last_save_is_the_other_programs_until_there_is_work_here(
    team: Team, clock: TickingClock
) -> None:
    demonstration(team.root)
    ways = holdfast.resume(team.project, DEMO, dry_run=True)
    assert f"Saved: {DAY}T21:44:30Z" in "\n".join(screens.recovery_screen(ways.run, ways.recovery))
    state = team.read("state.json", DEMO)
    assert (state["saved_at"], state["save_trigger"]) == (f"{DAY}T21:44:30Z", "auto")
    holdfast.resume(team.project, DEMO)
    assert team.read("state.json", DEMO)["saved_at"] > stamp(START)


@pytest.mark.defect("A silent session of another program was changed to `interrupted` in that program's files")
def test_a_silent_session_of_another_program_is_shown_as_such_and_not_changed(team: Team) -> None:
    directory = at_work(team, seconds_ago=120)
    recovery = (directory / "recovery.json").read_bytes()
    found = holdfast.status(team.project, run=DEMO)
    assert found.run is not None
    assert (found.run.status, found.silent_since) == (Status.ACTIVE, START - timedelta(seconds=120))
    assert "potentially interrupted" in holdfast.command(team.project, "*sessions").text
    assert (team.entry(DEMO)["status"], team.entry(DEMO)["updated_at"]) == ("active", "2026-01-01T11:58:00Z")
    assert team.read("state.json", DEMO)["saved_at"] == "2026-01-01T11:58:00Z"
    assert (directory / "recovery.json").read_bytes() == recovery
    ways = holdfast.resume(team.project, DEMO, dry_run=True)
    assert all(way.data_loss != "none" for way in ways.recovery)
    assert holdfast.resume(team.project, DEMO).run.status is Status.ACTIVE


def test_a_new_session_beside_one_of_another_program_leaves_that_one_as_it_is(team: Team) -> None:
    at_work(team, seconds_ago=120)
    started = holdfast.start(team.project, "other", layout="go-team")
    assert (started.paused, [run.id for run in started.resumable]) == ([], [DEMO])
    assert [run_of(team.project, DEMO).status, team.entry(DEMO)["status"]] == [Status.ACTIVE, "active"]


@pytest.mark.parametrize(
    "work", [holdfast.resume, holdfast.switch, lambda project, run: holdfast.note(project, "x", run=run)]
)
def test_one_that_was_chosen_or_worked_on_here_is_paused_by_the_next_one(
    team: Team, work: Callable[[Workspace, str], object]
) -> None:
    at_work(team, seconds_ago=120)
    work(team.project, DEMO)
    assert holdfast.start(team.project, "other", layout="go-team").paused == [DEMO]


@pytest.mark.parametrize("file", ["state.json", "sessions.json"])
def test_a_save_of_the_other_program_is_a_sign_of_life(team: Team, clock: TickingClock, file: str) -> None:
    at_work(team, seconds_ago=120)
    assert silent_since(team.project, run_of(team.project, DEMO))
    events = run_of(team.project, DEMO).seq
    clock.time += timedelta(minutes=10)
    if file == "state.json":
        saves(team, clock.time)
    else:
        change(team.root / file, sessions=[{**team.entry(DEMO), "updated_at": stamp(clock.time)}])
    assert silent_since(team.project, run_of(team.project, DEMO)) is None
    assert run_of(team.project, DEMO).seq == events + 1
    clock.time += timedelta(seconds=61)
    assert silent_since(team.project, run_of(team.project, DEMO))
    assert run_of(team.project, DEMO).seq == events + 1
