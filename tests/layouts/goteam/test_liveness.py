"""Who is alive in a Go Team run is a fact: neither numbers that are used again, nor sleep, nor clocks fool it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

import holdfast
from holdfast.core.model import Process, Status
from holdfast.core.recovery_options import options
from holdfast.layouts.goteam import screens
from holdfast.layouts.goteam.reconcile import synchronize
from holdfast.layouts.goteam.runs import find_resumable
from holdfast.layouts.goteam.schema import stamp
from holdfast.project import sessions
from holdfast.project.workspace import Workspace
from holdfast.system import process
from tests.conftest import TickingClock
from tests.go_team_project import Team, demonstration, put
from tests.sessions import a_process, kill, run_of, stop

FAR = Process(7, "1", "another-boot", "", "another-machine", "far")


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def open_with(team: Team, run: str, found: Process) -> str:
    id = "ses-0000000001"
    with team.project.writing() as journal:
        journal.append(run, holdfast.Draft("session.opened", {"process": found, "epoch": 0}, session=id))
    return id


def evidence_of(team: Team, run: str) -> str:
    return str(team.read("recovery.json", run)["last_known_state"]["evidence"])


@pytest.mark.promise(14)
def test_a_recycled_pid_is_not_taken_for_the_one_that_died(team: Team) -> None:
    run = team.begin().id
    with a_process() as stranger:
        found = process.identify(stranger.pid)
        assert found is not None
        open_with(team, run, msgspec.structs.replace(found, start=str(int(found.start) - 1)))
        assert holdfast.sweep(team.project).interrupted == [run]
        assert stranger.poll() is None
    assert "belongs to another program" in evidence_of(team, run)
    assert team.read("recovery.json", run)["interrupt_reason"] == "crash"


@pytest.mark.promise(14)
def test_a_restarted_machine_interrupts_what_ran_before(team: Team) -> None:
    run = team.begin().id
    here = process.here()
    open_with(team, run, Process(1, "1", "an-earlier-boot", here.namespace, here.machine, here.host))
    assert holdfast.sweep(team.project).interrupted == [run]
    assert "restarted" in evidence_of(team, run)


@pytest.mark.promise(14)
def test_a_suspended_laptop_interrupts_nobody(team: Team, clock: TickingClock) -> None:
    """While it sleeps nothing runs, and the wall clock is hours later when it wakes; the start of a process is not."""
    with a_process() as child:
        run = team.begin(pid=child.pid).id
        stop(child)
        clock.time += timedelta(hours=9)
        assert holdfast.sweep(team.project).interrupted == []
        with pytest.raises(holdfast.Busy):
            holdfast.resume(team.project, run)
        assert (team.entry(run)["status"], team.entry(run)["resumable"]) == ("active", False)
        kill(child)
        assert holdfast.sweep(team.project).interrupted == [run]


@pytest.mark.promise(14)
@pytest.mark.parametrize("year", [1971, 2025, 2030, 2199])
def test_a_clock_that_jumps_interrupts_nobody_and_hides_no_death(team: Team, clock: TickingClock, year: int) -> None:
    with a_process() as child:
        run = team.begin(pid=child.pid).id
        clock.time = datetime(year, 1, 1, tzinfo=UTC)
        assert holdfast.sweep(team.project).interrupted == []
        kill(child)
        assert holdfast.sweep(team.project).interrupted == [run]
    assert team.read("recovery.json", run)["interrupt_reason"] == "crash"
    assert holdfast.resume(team.project, run, start_from="live").run.status is Status.ACTIVE


def test_silence_on_another_machine_is_shown_and_interrupts_only_who_is_resumed(
    team: Team, clock: TickingClock
) -> None:
    run = team.begin().id
    open_with(team, run, FAR)
    assert "silent" not in holdfast.status(team.project).present[0].evidence
    assert find_resumable(team.project) == []
    clock.time += timedelta(seconds=61)
    (seen,) = holdfast.status(team.project).present
    assert (seen.alive, "another machine, far, silent since 2026-01-01" in seen.evidence) == (None, True)
    assert holdfast.sweep(team.project).interrupted == []
    assert [found.id for found in find_resumable(team.project)] == [run]
    assert run_of(team.project, run).status is Status.ACTIVE
    holdfast.resume(team.project, run)
    events = [event for event in holdfast.log(team.project, run=run).events if event.kind == "run.interrupted"]
    assert [event.body["evidence"] for event in events] == ["process 7 runs on another machine, far, and is silent"]


def test_a_sign_of_life_from_another_machine_ends_its_silence(team: Team, clock: TickingClock) -> None:
    run = team.begin().id
    session = open_with(team, run, FAR)
    events = run_of(team.project, run).seq
    for _ in range(3):
        clock.time += timedelta(seconds=50)
        sessions.write_heartbeat(team.project, session)
        with pytest.raises(holdfast.Busy):
            holdfast.resume(team.project, run)
    assert run_of(team.project, run).seq == events
    for text in ("", "{ torn", "2026-13-99", "2026-01-01T12:00:00"):
        (team.project.place / "alive" / session).write_text(text)
        clock.time += timedelta(seconds=100)
        assert "silent since" in holdfast.status(team.project).present[0].evidence
    holdfast.resume(team.project, run)
    with team.project.reading() as journal:
        sessions.clear_heartbeats(team.project, journal)
    assert list((team.project.place / "alive").iterdir()) == []


def test_trap_two_processes_on_one_session_lose_nothing_of_each_other(team: Team) -> None:
    run = team.begin().id
    script = (
        "import sys, holdfast\n"
        "with holdfast.open() as project:\n"
        "    for number in range(8):\n"
        "        holdfast.action(project, f'{sys.argv[1]} {number}')\n"
    )
    command = [sys.executable, "-c", script]
    both = [subprocess.Popen([*command, name], cwd=team.project.root) for name in ("one", "two")]
    assert [child.wait(60) for child in both] == [0, 0]
    told = [event.body["text"] for event in holdfast.log(team.project, run=run).events if event.kind == "action.taken"]
    for name in ("one", "two"):
        assert [text for text in told if text.startswith(name)] == [f"{name} {number}" for number in range(8)]
    assert team.read("state.json", run)["recovery_point"]["actions_since_checkpoint"] == 16
    assert team.read("state.json", run)["context"]["last_action"] == told[-1]


def test_g20_a_run_called_1_is_meant_by_1_and_else_the_first_row(team: Team) -> None:
    first = team.begin("ours").id
    holdfast.pause(team.project)
    listed = holdfast.command(team.project, "*sessions").text
    assert "│ 1  │" in listed
    assert f"Session: {first}" in holdfast.command(team.project, "*session-info:1").text
    demonstration(team.root / "theirs", "1")
    (team.root / "theirs" / "1").rename(team.root / "1")
    registry = team.registry()
    put(team.root / "sessions.json", {**registry, "sessions": [*registry["sessions"], {"id": "1", "status": "paused"}]})
    assert "Session: 1\n" in holdfast.command(team.project, "*session-info:1").text
    holdfast.command(team.project, "*sessions")
    assert "Session: 1\n" in holdfast.command(team.project, "*session-info:1").text
    assert holdfast.resume(team.project, "1", start_from="live").run.id == "1"


def test_g20_a_number_that_is_no_row_is_never_a_part_of_something_else(team: Team) -> None:
    team.begin()
    with pytest.raises(holdfast.NotFound, match="Session not found: 77777"):
        holdfast.command(team.project, "*resume:77777")


@pytest.mark.defect("the auto-save of a Go Team run left the registry's time as it was, so others took it for dead")
def test_each_auto_save_updates_the_registry_and_no_later_command_sets_it_back(team: Team, clock: TickingClock) -> None:
    with a_process() as child:
        started = holdfast.start(team.project, "topic", layout="go-team", pid=child.pid)
        assert started.session is not None
        for _ in range(3):
            clock.time += timedelta(seconds=30)
            before = team.entry(started.run.id)["updated_at"]
            sessions.write_heartbeat(team.project, started.session.id)
            synchronize(team.project, trigger="auto")
            saved = team.entry(started.run.id)["updated_at"]
            assert saved > before
            holdfast.status(team.project)
            assert team.entry(started.run.id)["updated_at"] == saved
    assert team.read("state.json", started.run.id)["save_trigger"] == "auto"


def shown(team: Team, run: str) -> list[str]:
    """What status, both observer commands and the recovery screen say of a run's silence."""
    found = holdfast.status(team.project, run=run)
    ways = holdfast.resume(team.project, run, dry_run=True)
    return [
        "potentially interrupted" if found.silent_since else "",
        holdfast.command(team.project, "*sessions").text,
        holdfast.command(team.project, f"*session-info:{run}").text,
        "\n".join(screens.recovery_screen(ways.run, ways.recovery, found.silent_since)).replace(
            "Interrupted: potentially", "potentially interrupted"
        ),
    ]


@pytest.mark.defect("a Go Team session without a sign of life, driven by commands or on another machine, looked active")
@pytest.mark.parametrize("far", [False, True])
def test_a_silent_session_is_shown_as_potentially_interrupted_and_stays_active(
    team: Team, clock: TickingClock, far: bool
) -> None:
    run = team.begin().id
    holdfast.action(team.project, "Writing a.go")
    if far:
        open_with(team, run, FAR)
        assert holdfast.status(team.project).silent_since is None
    else:
        assert not any("potentially interrupted" in text for text in shown(team, run))
    clock.time += timedelta(seconds=61)
    assert all("potentially interrupted" in text for text in shown(team, run))
    assert (run_of(team.project, run).status, team.entry(run)["status"]) == (Status.ACTIVE, "active")
    assert team.entry(run)["resumable"] is True
    holdfast.action(team.project, "Writing b.go")
    assert holdfast.status(team.project).silent_since is None


@pytest.mark.defect(
    "The recovery screen of an active session that was just heard of gave a time at which it was interrupted"
)
def test_the_recovery_screen_of_an_active_session_names_no_interruption(team: Team) -> None:
    run = team.begin().id
    holdfast.action(team.project, "Writing a.go")
    found = run_of(team.project, run)
    screen = "\n".join(screens.recovery_screen(found, options(found)))
    assert f"Interrupted: no, it is active, last heard of {stamp(found.updated)}" in screen
    holdfast.pause(team.project)
    paused = run_of(team.project, run)
    assert f"Interrupted: {stamp(paused.status_since)}" in "\n".join(screens.recovery_screen(paused, options(paused)))


def test_a_session_with_a_living_process_or_one_at_rest_is_never_potentially_interrupted(
    team: Team, clock: TickingClock
) -> None:
    with a_process() as child:
        run = team.begin(pid=child.pid).id
        holdfast.action(team.project, "Writing a.go")
        clock.time += timedelta(hours=1)
        assert holdfast.status(team.project, run=run).silent_since is None
    team.begin()
    holdfast.pause(team.project)
    clock.time += timedelta(hours=1)
    assert holdfast.status(team.project).silent_since is None
