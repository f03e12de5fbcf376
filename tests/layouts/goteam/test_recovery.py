"""Go Team runs that were interrupted: how that is found, what can be gone on with, and sessions that others began."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused
from holdfast.core.model import Cause, Draft, Process, Status
from holdfast.core.recovery_options import cause_of, options, recommended
from holdfast.layouts.goteam import screens
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.go_team_project import DAY, Team, demonstration, put
from tests.sessions import a_process, kill, run_of, saving_in_between
from tests.tools import a_run

DEMO = "test-session-001"


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def died(team: Team) -> str:
    """A run whose process was killed while it was at work on its second step."""
    with a_process() as child:
        run = team.begin(pid=child.pid, agent="robot").id
        team.work("init")
        team.write("half.go", "package half\n")
        holdfast.action(team.project, "Writing half.go", files=("half.go",), line=7)
        holdfast.action(team.project, "Testing half.go")
        kill(child)
    return run


def test_a_run_whose_process_is_gone_is_interrupted_with_a_recovery_file(team: Team) -> None:
    run = died(team)
    assert holdfast.sweep(team.project).interrupted == [run]
    assert (team.entry(run)["status"], team.entry(run)["resumable"]) == ("interrupted", True)
    found = team.read("recovery.json", run)
    assert set(found) == {"session_id", "interrupted_at", "interrupt_reason", "last_known_state", "recovery_options",
        "recommended", "auto_resume_enabled", "git_state"}  # fmt: skip
    assert found["interrupt_reason"] == "crash"
    assert (found["last_known_state"]["action"], found["last_known_state"]["step_name"]) == (
        "Testing half.go",
        "requirements",
    )
    assert "is gone" in found["last_known_state"]["evidence"]
    assert found["recovery_options"][0]["data_loss"] == "2 actions since checkpoint"
    assert found["recovery_options"][1]["data_loss"] == "none"


def test_g5_it_was_interrupted_when_it_last_did_something(team: Team) -> None:
    run = died(team)
    holdfast.sweep(team.project)
    with team.project.reading() as journal:
        last = journal.get_run(run).actions[-1].time
    assert team.read("recovery.json", run)["interrupted_at"] == f"{last:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.defect("a Go Team session was said to be interrupted before its last checkpoint or its last prompt")
@pytest.mark.parametrize("last", ["prompt", "checkpoint"])
def test_g5_it_was_not_interrupted_before_its_last_prompt_or_checkpoint(team: Team, last: str) -> None:
    with a_process() as child:
        run = team.begin(pid=child.pid, agent="robot").id
        holdfast.action(team.project, "Writing half.go")
        team.work("init")
        if last == "prompt":
            with team.project.writing() as journal:
                journal.append(run, Draft("prompt.given", {"text": "go on", "key": ""}))
        kill(child)
    holdfast.sweep(team.project)
    with team.project.reading() as journal:
        found = journal.get_run(run)
    times = {"checkpoint": found.standing.kept[-1].time, "prompt": found.prompts[-1].time if found.prompts else None}
    assert team.read("recovery.json", run)["interrupted_at"] == f"{times[last]:%Y-%m-%dT%H:%M:%SZ}"


def test_g31_the_discovery_of_a_dead_run_takes_a_checkpoint_first(team: Team) -> None:
    run = died(team)
    holdfast.sweep(team.project)
    made = holdfast.checkpoints(team.project).checkpoints[0]
    assert (made.kind, made.run) == ("interrupted", run)
    assert "half.go" in made.changed


def test_g8_an_active_run_is_resumable_only_when_nobody_alive_has_it(team: Team) -> None:
    with a_process() as child:
        run = team.begin(pid=child.pid).id
        holdfast.status(team.project)
        assert (team.entry(run)["status"], team.entry(run)["resumable"]) == ("active", False)
        with pytest.raises(holdfast.Busy):
            holdfast.resume(team.project, run)
    other = team.begin().id
    assert team.entry(other)["resumable"] is True


@pytest.mark.parametrize(
    ("status", "cause", "expected"),
    [
        (Status.INTERRUPTED, Cause.CRASH, "crash"),
        (Status.INTERRUPTED, Cause.TIMEOUT, "timeout"),
        (Status.INTERRUPTED, Cause.DISCONNECT, "disconnect"),
        (Status.INTERRUPTED, None, "crash"),
        (Status.PAUSED, None, None),
        (Status.ACTIVE, None, None),
    ],
)
def test_g27_the_reason_of_an_interruption(status: Status, cause: Cause | None, expected: str | None) -> None:
    assert cause_of(a_run(status=status, cause=cause, evidence="silent, its files say timeout")) == expected


def test_from_live_nothing_is_lost(team: Team) -> None:
    run = died(team)
    went = holdfast.resume(team.project, run, start_from="live")
    assert [way.type for way in went.recovery] == ["checkpoint", "live_state", "fresh_start"]
    assert [way.type for way in went.recovery if way.recommended] == ["live_state"]
    found = run_of(team.project, run)
    assert (found.status, found.standing.actions, found.standing.line) == (Status.ACTIVE, 3, 7)
    assert (team.project.root / "half.go").exists()
    assert (team.entry(run)["status"], team.entry(run)["recovery_type"]) == ("active", "experimental")
    assert not (team.directory(run) / "recovery.json").exists()


def test_g2_from_a_checkpoint_code_and_state_go_back_and_uncommitted_work_is_kept_first(team: Team) -> None:
    run = died(team)
    went = holdfast.resume(team.project, run, start_from="checkpoint")
    assert went.restored is not None
    assert not (team.project.root / "half.go").exists()
    assert team.read("state.json", run)["context"]["last_action"] == "Writing init.go"
    assert team.read("state.json", run)["recovery_point"]["actions_since_checkpoint"] == 0
    assert team.entry(run)["recovery_type"] == "checkpoint"
    holdfast.undo(team.project)
    assert (team.project.root / "half.go").read_text() == "package half\n"


def test_from_fresh_the_run_begins_again_and_its_checkpoints_are_left_behind(team: Team) -> None:
    run = died(team)
    holdfast.resume(team.project, run, start_from="fresh")
    assert team.entry(run)["progress"]["steps_completed"] == 0
    assert team.entry(run)["current_step"] == 1
    assert [point["valid"] for point in team.read("manifest.json", run)["checkpoints"]] == [False]
    assert (team.project.root / "half.go").exists()


@pytest.mark.defect("a Go Team session that was paused, by Ctrl-C too, had no recovery data")
def test_g9_a_pause_is_no_interruption(team: Team) -> None:
    run = team.begin().id
    holdfast.pause(team.project)
    assert team.entry(run)["status"] == "paused"
    assert team.read("recovery.json", run)["interrupt_reason"] is None
    holdfast.resume(team.project, run)
    assert not (team.directory(run) / "recovery.json").exists()


@pytest.mark.parametrize("word", ["complete", "fail", "abandon"])
def test_what_has_ended_is_not_resumed_and_the_way_out_is_told(team: Team, word: str) -> None:
    run = team.begin().id
    getattr(holdfast, word)(team.project, run)
    with pytest.raises(Refused) as found:
        holdfast.resume(team.project, run)
    assert found.value.hints


def test_what_a_way_loses_is_counted_in_actions_and_seconds(team: Team) -> None:
    run = died(team)
    holdfast.sweep(team.project)
    first, live, fresh = options(run_of(team.project, run))
    assert (first.actions, live.actions, live.seconds, fresh.actions) == (2, 0, 0, 3)
    assert (first.seconds or 0) > 0


def test_a_clock_that_jumps_back_interrupts_nobody(team: Team, clock: TickingClock) -> None:
    with a_process() as child:
        run = team.begin(pid=child.pid).id
        clock.time = datetime(2025, 1, 1, tzinfo=UTC)
        assert holdfast.sweep(team.project).interrupted == []
        clock.time = datetime(2030, 1, 1, tzinfo=UTC)
        assert holdfast.sweep(team.project).interrupted == []
        assert team.entry(run)["status"] == "active"


FAR = Process(7, "1", "another-boot", "", "another-machine", "far")


def open_far_away(team: Team, run: str) -> None:
    with team.project.writing() as journal:
        journal.append(run, holdfast.Draft("session.opened", {"process": FAR, "epoch": 0}, session="ses-0000000001"))


def test_who_is_silent_on_another_machine_is_interrupted_only_when_somebody_resumes(
    team: Team, clock: TickingClock
) -> None:
    run = team.begin().id
    open_far_away(team, run)
    with pytest.raises(holdfast.Busy):
        holdfast.resume(team.project, run)
    clock.time += timedelta(seconds=61)
    assert holdfast.sweep(team.project).interrupted == []
    holdfast.action(team.project, "still active")
    assert (team.entry(run)["status"], team.entry(run)["resumable"]) == ("active", True)
    holdfast.resume(team.project, run)
    (event,) = [found for found in holdfast.log(team.project, run=run).events if found.kind == "run.interrupted"]
    assert "another machine, far, and is silent" in event.body["evidence"]
    assert run_of(team.project, run).status is Status.ACTIVE
    assert not [found for found in holdfast.sessions(team.project, run=run).sessions if found.is_open]


# Sessions that others began


def test_the_demonstration_session_is_taken_in(team: Team) -> None:
    demonstration(team.root)
    found = run_of(team.project, DEMO)
    assert (found.layout, found.status, found.goal) == ("go-team", Status.INTERRUPTED, "user-authentication-service")
    standing = found.standing
    assert (standing.agent, standing.file, standing.line) == ("go-coder-agent", "internal/service/auth.go", 67)
    assert [kept.number for kept in standing.kept] == ["01", "02", "03", "04"]
    assert [step.status for step in found.steps] == ["completed"] * 3 + ["active"] + ["pending"] * 5
    assert [task.text for task in found.open_tasks] == ["Complete token service"]
    assert standing.outputs["spec"] == "# The spec"
    assert found.created == datetime(2025, 12, 28, 21, 0, tzinfo=UTC)
    entry = team.entry(DEMO)
    assert (entry["status"], entry["progress"]) == (
        "interrupted",
        {"steps_completed": 4, "total_steps": 9, "percentage": 44},
    )


def test_it_is_taken_in_once(team: Team) -> None:
    demonstration(team.root)
    events = len(holdfast.log(team.project, run=DEMO).events)
    holdfast.status(team.project)
    (team.root / "sessions.json").unlink()
    holdfast.status(team.project)
    assert len(holdfast.log(team.project, run=DEMO).events) == events


def test_g4_the_checkpoint_to_go_on_from_is_the_newest_valid_one(team: Team) -> None:
    demonstration(team.root)
    (first, *_) = options(run_of(team.project, DEMO))
    assert (first.type, first.target) == ("checkpoint", "cp-04-implementation-20251228-214500")


def test_g6_a_registry_that_is_an_object_by_id_is_read_too(team: Team) -> None:
    demonstration(team.root)
    registry = team.registry()
    registry["sessions"] = {entry["id"]: entry for entry in registry["sessions"]}
    put(team.root / "sessions.json", registry)
    assert run_of(team.project, DEMO).status is Status.INTERRUPTED


def test_g12_a_live_state_that_is_older_than_its_checkpoint_is_not_recommended(team: Team) -> None:
    demonstration(team.root)
    checkpoint, live, _ = options(run_of(team.project, DEMO))
    assert (checkpoint.recommended, live.recommended) == (True, False)
    assert checkpoint.data_loss.startswith("none")
    assert live.data_loss.startswith("unknown")
    assert team.read("state.json", DEMO)["recovery_point"]["actions_since_checkpoint"] == 0


def test_actions_that_a_newer_live_state_counts_are_believed(team: Team) -> None:
    directory = demonstration(team.root)
    state = json.loads((directory / "state.json").read_text())
    put(directory / "state.json", {**state, "saved_at": "2025-12-28T21:50:00Z"})
    checkpoint, live, _ = options(run_of(team.project, DEMO))
    assert (checkpoint.data_loss, live.recommended) == ("12 actions since checkpoint", True)


def test_g16_a_checksum_that_is_wrong_makes_a_foreign_checkpoint_unverified_and_it_stays(team: Team) -> None:
    directory = demonstration(team.root)
    before = (directory / "cp-01-init-20251228-210000.json").read_bytes()
    assert {kept.flaw for kept in run_of(team.project, DEMO).standing.kept} == {
        "unverified: its checksum is not that of its content"
    }
    assert (directory / "cp-01-init-20251228-210000.json").read_bytes() == before
    holdfast.switch(team.project, DEMO)
    found = holdfast.validate_checkpoints(team.project)
    assert (found.whole, len(found.checkpoints)) == (False, 4)


def test_g18_metrics_and_iterations_are_read_under_both_names(team: Team) -> None:
    demonstration(team.root)
    standing = run_of(team.project, DEMO).standing
    assert (standing.metrics["test_coverage"], standing.metrics["build_pass"]) == (12, True)
    assert standing.most_iterations == 4


def test_g19_a_name_that_no_run_can_have_is_left_alone(team: Team) -> None:
    for number, name in enumerate(("cp-1", "run-x", "-x")):
        demonstration(team.root / str(number), name)
        put(team.root / "sessions.json", {"sessions": [{"id": name}, {"id": "../x"}, {"id": 7}, 3]})
        holdfast.status(team.project)
    assert holdfast.runs(team.project).runs == []


def test_g20_exact_id_then_row_then_unique_ending(team: Team) -> None:
    first, second = team.begin("one").id, team.begin("two").id
    holdfast.pause(team.project)
    holdfast.command(team.project, "*sessions")
    for word in (first, first[-6:]):
        assert f"Session: {first}" in holdfast.command(team.project, f"*session-info:{word}").text
    holdfast.runs(team.project)
    assert f"Session: {second}" in holdfast.command(team.project, "*session-info:1").text
    with pytest.raises(NotFound):
        holdfast.command(team.project, "*session-info:nowhere")


def test_g28_a_foreign_checkpoint_with_a_real_commit_is_restored_through_its_tree(team: Team) -> None:
    root = team.project.root
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    team.write("kept.go", "as committed\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    team.write("kept.go", "changed since\n")
    directory = demonstration(team.root)
    path = directory / "cp-04-implementation-20251228-214500.json"
    point = json.loads(path.read_text())
    point["git"]["commit_hash"] = head
    put(path, point)
    holdfast.resume(team.project, DEMO, start_from="checkpoint")
    assert (root / "kept.go").read_text() == "as committed\n"
    holdfast.undo(team.project)
    assert (root / "kept.go").read_text() == "changed since\n"


def test_trap_registry_lost_is_made_again_from_the_session_directories(team: Team) -> None:
    demonstration(team.root)
    put(team.root / "sessions.json", {"version": "1.0.0", "sessions": [], "last_active_session": None})
    assert run_of(team.project, DEMO).standing.kept


def test_trap_corrupted_cp_in_the_middle_keeps_nobody_from_the_others(team: Team) -> None:
    directory = demonstration(team.root)
    (directory / "cp-02-requirements-20251228-211500.json").write_text("{ torn")
    assert [kept.number for kept in run_of(team.project, DEMO).standing.kept] == ["01", "03", "04"]
    assert (directory / "cp-02-requirements-20251228-211500.json").read_text() == "{ torn"


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", '{"sessions": 7}', '{"sessions": [null, 3, {"id": {}}]}', "\ufeff{}"]
)
def test_a_strange_registry_breaks_nothing_and_is_not_written_before_a_run_is_ours(team: Team, text: str) -> None:
    team.root.mkdir()
    (team.root / "sessions.json").write_text(text)
    holdfast.status(team.project)
    assert [path.name for path in team.root.iterdir()] == ["sessions.json"]
    assert (team.root / "sessions.json").read_text() == text
    run = holdfast.start(team.project, "goal", layout="go-team").run.id
    assert (team.root / run / "state.json").exists()


@pytest.mark.parametrize(
    "name", ["manifest.json", "state.json", "recovery.json", "cp-04-implementation-20251228-214500.json"]
)
@pytest.mark.parametrize(
    "text", ["", "null", "[1]", "{ torn", '{"state": 7, "context": [], "checkpoints": {}, "git": 1}']
)
def test_strange_files_of_a_session_break_nothing(team: Team, name: str, text: str) -> None:
    directory = demonstration(team.root)
    (directory / name).write_text(text)
    assert run_of(team.project, DEMO).layout == "go-team"


# Observer commands, cleanup, export


def test_observer_commands_in_a_team_run(team: Team) -> None:
    def say(text: str) -> str:
        return holdfast.command(team.project, text).text

    run = team.begin().id
    team.work("init", "requirements")
    assert "cp-02-requirements" in say("*checkpoints")
    assert "requirements.go" in say("*cp-show:2")
    assert "+package requirements" in say("*cp-diff:1:2")
    assert "2 checkpoints, all whole" in say("*cp-validate")
    assert "Exported 2 checkpoints" in say("*cp-export")
    assert "Would go back" in say("*rollback:1")
    assert "Back at" in say("*rollback:1 yes")
    assert "Progress: 1/9 (11%)" in say("*session-info")
    assert "is paused" in say("*pause")
    assert "RESUMABLE SESSIONS FOUND" in say("*sessions")
    assert "✓ SESSION RESUMED" in say("*resume")
    assert "is paused" in say("*exit")
    assert "✓ SESSION RESUMED" in say(f"*resume:{run[-6:]}")
    assert "GO TEAM SESSION STARTED" in say("*new payment-gateway")
    assert "is abandoned" in say(f"*abandon:{run}")
    assert "Nothing to clean up" in say("*cleanup")
    assert not holdfast.command(team.project, "*nonsense").known


def test_an_export_is_one_archive_with_its_digest(team: Team) -> None:
    run = team.begin().id
    team.work("init")
    found = holdfast.export_checkpoints(team.project)
    archive = team.project.root / found.path
    assert archive.parent == team.directory(run) / "exports"
    subprocess.run(["sha256sum", "-c", "--quiet", f"{archive.name}.sha256"], cwd=archive.parent, check=True)
    names = subprocess.run(["tar", "tzf", archive], check=True, capture_output=True, text=True).stdout.split()
    assert f"{run}/manifest.json" in names
    assert any(name.startswith(f"{run}/code/cp-01-init") for name in names)


def test_validation_finds_a_changed_file_and_a_lost_one(team: Team) -> None:
    run = team.begin().id
    team.work("init", "requirements")
    first, second = team.points(run)
    point = team.read(f"{first}.json", run)
    put(team.directory(run) / f"{first}.json", {**point, "step_number": 9})
    put(team.directory(run) / f"{second}.json", {"id": second})
    found = holdfast.validate_checkpoints(team.project)
    assert not found.whole
    assert ["checksum" in " ".join(one.problems) for one in found.checkpoints] == [True, True]


@pytest.mark.promise(13)
def test_what_others_save_in_the_moment_in_which_a_cleanup_takes_a_file_stays(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = team.begin().id
    holdfast.complete(team.project, run)
    team.begin()
    path = team.directory(run) / "state.json"
    saving_in_between(monkeypatch, path.name, lambda: put(path, {"theirs": 1}))
    assert holdfast.cleanup(team.project, days=0, keep=0).runs == [run]
    assert os.listdir(path.parent) == [path.name]
    assert team.read(path.name, run) == {"theirs": 1}


def test_g24_cleanup_takes_only_what_is_over_and_shows_it_first(team: Team, clock: TickingClock) -> None:
    over = []
    for act in (holdfast.complete, holdfast.abandon, holdfast.fail, holdfast.pause):
        over.append(team.begin().id)
        team.work("init")
        act(team.project, over[-1])
    current = team.begin().id
    clock.time = datetime(2026, 6, 1, tzinfo=UTC)
    shown = holdfast.cleanup(team.project, dry_run=True)
    assert sorted(shown.runs) == sorted(over[:2])
    assert all(team.directory(run).exists() for run in over)
    assert sorted(holdfast.cleanup(team.project).runs) == sorted(over[:2])
    assert [team.directory(run).exists() for run in over] == [False, False, True, True]
    assert {entry["id"] for entry in team.registry()["sessions"]} == {*over[2:], current}
    assert run_of(team.project, over[0]).status is Status.COMPLETED
    assert holdfast.cleanup(team.project).runs == []


def test_cleanup_keeps_the_newest_few_what_is_pinned_and_what_others_put_there(team: Team) -> None:
    runs = []
    for _ in range(4):
        runs.append(team.begin().id)
        team.work("init")
        holdfast.complete(team.project, runs[-1])
    team.begin()
    holdfast.pin(team.project, holdfast.checkpoints(team.project, run=runs[0]).checkpoints[0].id)
    (team.directory(runs[1]) / "notes.txt").write_text("mine")
    found = holdfast.cleanup(team.project, keep=2)
    assert found.runs == [runs[1]]
    assert [path.name for path in team.directory(runs[1]).iterdir()] == ["notes.txt"]


def test_a_project_without_a_team_has_nothing_to_clean_up(project: Workspace) -> None:
    assert holdfast.cleanup(project).runs == []


def with_state(directory: Path, **changes: Any) -> None:
    state = json.loads((directory / "state.json").read_text())
    put(directory / "state.json", {**state, **changes})


@pytest.mark.defect("a session that another program wrote was said to lose nothing, of which nobody can know")
def test_no_way_to_go_on_with_a_foreign_session_claims_that_nothing_is_lost(team: Team) -> None:
    with_state(demonstration(team.root), saved_at="2025-12-28T21:50:00Z")
    ways = holdfast.resume(team.project, DEMO, dry_run=True).recovery
    live = next(way for way in ways if way.type == "live_state")
    assert live.data_loss.startswith("~30 seconds")
    screen = "\n".join(screens.recovery_screen(run_of(team.project, DEMO), ways))
    assert "journal has everything" not in screen
    assert "May have inconsistencies" in screen
    holdfast.resume(team.project, DEMO, start_from="live")
    with team.project.writing() as journal:
        journal.append(DEMO, holdfast.Draft("run.interrupted", {"evidence": "process 7 is gone"}))
    assert options(run_of(team.project, DEMO))[1].data_loss == "none", "from then on the journal knows all"


@pytest.mark.defect("recovery.json recommended one way to go on with a foreign session, and the screen another one")
@pytest.mark.parametrize("saved", ["2025-12-28T21:44:30Z", "2025-12-28T21:50:00Z"])
def test_file_and_screen_recommend_the_same_way_and_tell_the_same_time(team: Team, saved: str) -> None:
    with_state(demonstration(team.root), saved_at=saved)
    ways = holdfast.resume(team.project, DEMO, dry_run=True).recovery
    found = team.read("recovery.json", DEMO)
    assert found["recommended"] == recommended(ways).type
    assert [option["recommended"] for option in found["recovery_options"]] == [way.recommended for way in ways]
    assert [option["data_loss"] for option in found["recovery_options"]] == [way.data_loss for way in ways]
    assert found["interrupted_at"] == f"{DAY}T21:45:00Z", "as the other program wrote it"
    assert f"Interrupted: {DAY}T21:45:00Z" in "\n".join(screens.recovery_screen(run_of(team.project, DEMO), ways))


@pytest.mark.defect("the step of a foreign session was counted from checkpoint files alone, and its live state ignored")
def test_the_step_of_a_foreign_session_is_that_of_its_live_state_then_of_its_registry(team: Team) -> None:
    directory = demonstration(team.root)
    for path in directory.glob("cp-0[124]-*.json"):
        path.unlink()
    with_state(directory, saved_at="2025-12-28T21:50:00Z")
    holdfast.status(team.project)
    assert (team.entry(DEMO)["current_step"], team.read("manifest.json", DEMO)["current_step"]) == (4, 4)
    assert team.read("state.json", DEMO)["state"]["phase"] == "implementation"
    assert team.entry(DEMO)["progress"]["steps_completed"] == 1, "counted: only one checkpoint is left"


@pytest.mark.parametrize(
    ("state", "entry", "expected"),
    [
        ({"current_step": 6}, {"current_step": 4}, 6),
        ({"current_step": 5.5}, {}, "5b"),
        ({"current_step": 4.0}, {}, 4),
        ({"phase": "testing"}, {}, 5),
        ({}, {"current_step": 7}, 7),
        ({"current_step": "nowhere"}, {"current_step": True}, 5),
        ({"current_step": None}, {"current_step": []}, 5),
    ],
)
def test_a_step_in_foreign_files_is_a_number_or_a_name(
    team: Team, state: dict[str, Any], entry: dict[str, Any], expected: int | str
) -> None:
    with_state(
        demonstration(team.root, **{"current_step": None, **entry}), saved_at="2025-12-28T21:50:00Z", state=state
    )
    holdfast.status(team.project)
    assert team.entry(DEMO)["current_step"] == expected
