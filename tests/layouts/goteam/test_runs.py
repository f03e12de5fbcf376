"""Go Team runs: their files in the document's schemas, their steps, and what is saved when."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Status
from holdfast.layouts.goteam.schema import checksum
from holdfast.project.workspace import Workspace
from tests.go_team_project import Team, put
from tests.sessions import kinds_of, run_of, with_environ

REGISTERED = {"id", "topic", "status", "created_at", "updated_at", "current_step", "current_checkpoint", "progress",
    "git_branch", "resumable"}  # fmt: skip


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def git_state(team: Team) -> str:
    done = subprocess.run(
        ["git", "status", "--porcelain", "--branch"], cwd=team.project.root, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_start_makes_the_registry_and_the_files_of_the_run(team: Team) -> None:
    run = team.begin()
    assert run.id.startswith("session-")
    assert team.registry()["version"] == "1.0.0"
    assert team.registry()["last_active_session"] == run.id
    assert set(team.entry()) == REGISTERED
    assert (team.entry()["status"], team.entry()["current_step"], team.entry()["current_checkpoint"]) == (
        "active",
        1,
        None,
    )
    assert team.entry()["progress"] == {"steps_completed": 0, "total_steps": 9, "percentage": 0}
    assert set(team.read("manifest.json")) == {"session_id", "topic", "created_at", "updated_at", "checkpoints",
        "current_checkpoint", "current_step", "rollback_history"}  # fmt: skip
    assert set(team.read("state.json")) == {"session_id", "saved_at", "save_trigger", "state", "context", "outputs",
        "recovery_point", "holdfast_event"}  # fmt: skip
    assert team.read("rollback-history.json") == {"session_id": run.id, "history": []}
    assert not (team.directory() / "recovery.json").exists()


def test_g1_the_files_are_ignored_by_git_and_nothing_in_git_changes(team: Team) -> None:
    before = git_state(team)
    team.begin()
    assert (team.root / ".gitignore").read_text() == "*\n"
    assert git_state(team) == before
    team.work("init", "requirements")
    holdfast.rollback(team.project, "1")
    assert len(team.points()) == 2
    assert team.read("manifest.json")["checkpoints"][0]["valid"] is True


def test_the_nine_steps_by_default_and_other_lists_by_setting_or_option(team: Team) -> None:
    team.begin()
    assert [step.name for step in run_of(team.project).steps] == ["init", "requirements", "architecture",
        "implementation", "testing", "review", "optimization", "release", "synthesis"]  # fmt: skip
    other = with_environ(team.project, HOLDFAST_GO_TEAM_STEPS="plan, build")
    assert [step.name for step in run_of(other, holdfast.start(other, "b", layout="go-team").run.id).steps] == [
        "plan",
        "build",
    ]
    team.begin("c", steps=("one",))
    assert [step.name for step in run_of(team.project).steps] == ["one"]


def test_completing_a_step_makes_a_checkpoint_moves_progress_and_saves(team: Team) -> None:
    team.begin()
    team.write("main.go", "package main\n")
    done = holdfast.complete_step(team.project, "init")
    (name,) = team.points()
    point = team.read(f"{name}.json")
    assert name.startswith("cp-01-init-20260101-")
    assert (point["step_number"], point["step_name"], point["files"]["created"]) == (1, "init", ["main.go"])
    assert point["holdfast_checkpoint"] == done.checkpoint
    assert team.entry()["progress"] == {"steps_completed": 1, "total_steps": 9, "percentage": 11}
    assert (team.entry()["current_checkpoint"], team.entry()["current_step"]) == (name, 2)
    assert team.read("state.json")["save_trigger"] == "checkpoint"
    made = holdfast.checkpoints(team.project).checkpoints[0]
    assert (made.id, made.kind, made.name) == (done.checkpoint, "step", name)


def test_completing_a_step_twice_makes_one_checkpoint(team: Team) -> None:
    team.begin()
    assert holdfast.complete_step(team.project, "init").changed
    assert not holdfast.complete_step(team.project, "init").changed
    assert len(team.points()) == 1


def test_a_step_whose_checkpoint_a_kill_prevented_gets_it_when_it_is_completed_again(team: Team) -> None:
    run = team.begin()
    with team.project.writing() as journal:
        journal.append(run.id, holdfast.Draft("step.completed", {"name": "init"}))
    holdfast.status(team.project)
    assert team.entry()["progress"]["steps_completed"] == 0
    assert holdfast.complete_step(team.project, "init").changed
    assert team.entry()["progress"]["steps_completed"] == 1


def test_the_last_step_makes_the_final_checkpoint_and_completes_the_run(team: Team) -> None:
    run = team.begin(steps=("build", "synthesis")).id
    team.work("build")
    last = holdfast.complete_step(team.project, "synthesis-final")
    assert last.completed
    entry = team.entry(run)
    assert (entry["status"], entry["resumable"], entry["progress"]["percentage"]) == ("completed", False, 100)
    assert entry["completed_at"]
    assert team.read("state.json", run)["state"]["session"]["auto_save"]["enabled"] is False
    with pytest.raises(Refused):
        holdfast.resume(team.project, run)


def test_g3_a_checkpoint_is_found_by_full_name_short_name_or_step_and_the_newest_valid_wins(team: Team) -> None:
    team.begin()
    team.work("init", "review-1", "review-2", "review-final")
    full = [name for name in team.points() if name.startswith("cp-06-review-")]
    assert [name.rpartition("-")[0].rpartition("-")[0] for name in full] == ["cp-06-review-1", "cp-06-review-2",
        "cp-06-review-final"]  # fmt: skip
    point = {name: team.read(f"{name}.json")["holdfast_checkpoint"] for name in full}
    for name, wanted in ((full[0], full[0]), ("cp-06-review-2", full[1]), ("6", full[2]), ("06", full[2])):
        holdfast.action(team.project, "something")
        assert holdfast.rollback(team.project, name, dry_run=True).to == point[wanted]
    assert run_of(team.project).standing.iterations == 2


def test_g7_the_registry_knows_six_statuses_and_three_cannot_be_resumed(team: Team) -> None:
    for act, word, resumable in (
        (holdfast.pause, "paused", True),
        (holdfast.fail, "failed", False),
        (holdfast.abandon, "abandoned", False),
        (holdfast.abort, "abandoned", False),
        (holdfast.complete, "completed", False),
    ):
        run = team.begin().id
        act(team.project, run)
        assert (team.entry(run)["status"], team.entry(run)["resumable"]) == (word, resumable)


def test_g10_five_triggers_of_a_save(team: Team) -> None:
    def trigger() -> str:
        return str(team.read("state.json")["save_trigger"])

    team.begin()
    holdfast.action(team.project, "wrote it", files=("a.go",))
    assert trigger() == "action"
    holdfast.handoff(team.project, "test-agent")
    assert trigger() == "agent_switch"
    holdfast.breakpoint(team.project, True)
    assert trigger() == "breakpoint"
    holdfast.complete_step(team.project, "init")
    assert trigger() == "checkpoint"


def test_g11_the_line_is_optional(team: Team) -> None:
    team.begin()
    holdfast.action(team.project, "wrote it", files=("a.go",), line=45)
    assert team.read("state.json")["context"]["current_line"] == 45
    holdfast.action(team.project, "wrote it", files=("b.go",))
    context = team.read("state.json")["context"]
    assert (context["last_action"], context["current_file"], context["current_line"]) == ("wrote it", "b.go", None)
    with pytest.raises(WrongUsage):
        holdfast.action(team.project, "no file", line=3)


def test_g13_and_g14_three_options_of_which_one_is_recommended_in_both_places(team: Team) -> None:
    team.begin()
    team.work("init")
    holdfast.fail_step(team.project, "requirements", error="the build is red")
    found = team.read("recovery.json")
    assert [(option["type"], option["id"]) for option in found["recovery_options"]] == [("checkpoint", 1),
        ("live_state", 2), ("fresh_start", 3)]  # fmt: skip
    assert [option["type"] for option in found["recovery_options"] if option["recommended"]] == [found["recommended"]]


def test_g16_the_checksum_is_that_of_the_document_without_it(team: Team) -> None:
    team.begin()
    team.work("init")
    (name,) = team.points()
    point = team.read(f"{name}.json")
    assert point["checksum"] == checksum(point)
    assert checksum({**point, "step_number": 2}) != point["checksum"]
    assert checksum(dict(reversed(point.items()))) == point["checksum"]


def test_g19_a_session_is_called_session_and_six_characters(team: Team) -> None:
    id = team.begin().id
    assert (id.startswith("session-"), len(id)) == (True, len("session-abc123"))


def test_g21_completed_are_steps_with_a_valid_checkpoint_and_the_percentage_is_a_floor(team: Team) -> None:
    team.begin()
    team.work("init", "requirements", "architecture", "implementation")
    assert team.entry()["progress"] == {"steps_completed": 4, "total_steps": 9, "percentage": 44}
    holdfast.rollback(team.project, "2")
    assert team.entry()["progress"] == {"steps_completed": 2, "total_steps": 9, "percentage": 22}


def test_g22_the_root_can_be_set_inside_the_project_only(team: Team) -> None:
    other = with_environ(team.project, HOLDFAST_GO_TEAM_ROOT=".microai/teams/go-team/checkpoints")
    run = holdfast.start(other, "goal", layout="go-team").run.id
    assert (team.project.root / ".microai/teams/go-team/checkpoints" / run / "state.json").exists()
    assert not team.root.exists()
    for outside in ("../elsewhere", "/tmp", ".git/x", "."):
        with with_environ(team.project, HOLDFAST_GO_TEAM_ROOT=outside) as strange:
            holdfast.status(strange)
            assert any("go_team.root" in warning for warning in strange.warnings)
    assert not (team.project.root.parent / "elsewhere").exists()


def test_g23_an_error_in_a_step_is_saved_and_the_run_is_not_failed(team: Team) -> None:
    team.begin()
    team.work("init")
    holdfast.fail_step(team.project, "requirements", error="the build is red")
    assert team.entry()["status"] == "active"
    found = team.read("recovery.json")
    assert (found["interrupt_reason"], found["last_known_state"]["error"]) == ("error", "the build is red")
    holdfast.start_step(team.project, "requirements")
    assert not (team.directory() / "recovery.json").exists()


def test_g25_steps_between_the_nine_are_understood_and_do_not_count(team: Team) -> None:
    team.begin()
    team.work("init")
    for word, number, name in (
        ("1b", "1b", "codebase-analysis"),
        ("5.5", "5b", "security"),
        ("8b", "8b", "documentation"),
    ):
        holdfast.complete_step(team.project, word)
        found = team.read("manifest.json")["checkpoints"][-1]
        assert (found["step"], found["step_name"]) == (number, name)
    assert team.entry()["progress"]["steps_completed"] == 1
    holdfast.complete_step(team.project, "step-02-requirements")
    holdfast.complete_step(team.project, "3")
    assert team.entry()["progress"]["steps_completed"] == 3


def test_g26_the_last_step_has_two_names(team: Team) -> None:
    for name in ("synthesis", "synthesis-final"):
        run = team.begin(steps=("synthesis",)).id
        assert holdfast.complete_step(team.project, name).completed
        assert [point.rpartition("-202")[0] for point in team.points(run)] == [f"cp-01-{name}"]


def test_g28_no_branch_is_made_and_the_checkpoint_names_the_one_that_is_checked_out(team: Team) -> None:
    git = ["git", "-C", str(team.project.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    branch = subprocess.run(
        [*git, "branch", "--show-current"], check=True, capture_output=True, text=True
    ).stdout.strip()
    team.begin()
    team.work("init")
    (name,) = team.points()
    assert team.read(f"{name}.json")["git"] == {"enabled": True, "branch": branch, "commit_hash": head}
    assert team.entry()["git_branch"] == branch
    refs = subprocess.run([*git, "branch", "--all", "--format=%(refname)"], check=True, capture_output=True, text=True)
    assert refs.stdout.split() == [f"refs/heads/{branch}"]


def test_g29_the_session_block_stands_in_the_live_state(team: Team) -> None:
    run = team.begin()
    team.work("init")
    holdfast.action(team.project, "one more")
    found = team.read("state.json")["state"]["session"]
    assert (found["id"], found["status"], found["auto_save"]["interval"]) == (run.id, "active", 30)
    assert found["recovery"] == {"enabled": True, "last_checkpoint": team.points()[0], "actions_since_checkpoint": 1}


def test_g30_auto_resume_mirrors_its_setting(team: Team) -> None:
    team.begin()
    holdfast.fail_step(team.project, "init", error="red")
    assert team.read("recovery.json")["auto_resume_enabled"] is False
    on = with_environ(team.project, HOLDFAST_RECOVERY_AUTO_RESUME="on")
    holdfast.action(on, "again")
    assert team.read("recovery.json")["auto_resume_enabled"] is True


def test_g31_a_pause_takes_a_checkpoint_first(team: Team) -> None:
    team.begin()
    team.work("init")
    team.write("half.go", "package half\n")
    holdfast.pause(team.project)
    assert holdfast.checkpoints(team.project).checkpoints[0].kind == "paused"


def test_what_a_team_tells_is_in_the_live_state(team: Team) -> None:
    team.begin()
    holdfast.start_step(team.project, "requirements")
    assert team.read("state.json")["state"]["current_agent"] == "pm-agent"
    holdfast.handoff(team.project, "go-coder-agent")
    holdfast.output(team.project, "spec", "# Spec\n")
    holdfast.output(team.project, "review_comments", "one\n\n two \n")
    for key, value in (("build_pass", "true"), ("test_coverage", "85"), ("lint_clean", "no"), ("speed", "fast")):
        holdfast.metric(team.project, key, value)
    holdfast.add_task(team.project, "Wire DI")
    for file in ("cmd/main.go", "cmd/main_test.go"):
        holdfast.action(team.project, f"Write {file}", files=(file,))
    found = team.read("state.json")
    assert found["state"]["current_agent"] == "go-coder-agent"
    assert found["state"]["phase"] == "requirements"
    assert found["state"]["metrics"] == {"build_pass": True, "test_coverage": 85, "lint_clean": False,
        "race_free": False, "speed": "fast"}  # fmt: skip
    assert found["context"]["pending_tasks"] == ["Wire DI"]
    outputs = found["outputs"]
    assert (outputs["spec"], outputs["review_comments"]) == ("# Spec\n", ["one", "two"])
    assert (outputs["code_files"], outputs["test_files"]) == (["cmd/main.go"], ["cmd/main_test.go"])


def test_telling_the_same_again_is_nothing_to_do(team: Team) -> None:
    team.begin()
    acts: list[Callable[[], bool]] = [
        lambda: holdfast.handoff(team.project, "x").changed,
        lambda: holdfast.breakpoint(team.project, True).changed,
        lambda: holdfast.output(team.project, "spec", "x").changed,
        lambda: holdfast.metric(team.project, "n", "1").changed,
    ]
    for act in acts:
        assert [act(), act()] == [True, False]


def test_every_kind_of_run_can_be_told_these(project: Workspace) -> None:
    holdfast.start(project, "goal")
    holdfast.handoff(project, "tester")
    holdfast.metric(project, "coverage", "12.5%")
    standing = run_of(project).standing
    assert (standing.agent, standing.metrics) == ("tester", {"coverage": 12.5})
    assert not (project.root / "checkpoints").exists()


def test_what_cannot_be_a_key_or_fit_is_refused(team: Team) -> None:
    team.begin()
    for key in ("", "a b", "../x", "1x", "x" * 61, "a\x1b"):
        with pytest.raises(WrongUsage):
            holdfast.output(team.project, key, "x")
        with pytest.raises(WrongUsage):
            holdfast.metric(team.project, key, "1")
    with pytest.raises(WrongUsage):
        holdfast.output(team.project, "spec", "x" * 200_001)
    holdfast.abandon(team.project)
    with pytest.raises(Refused):
        holdfast.handoff(team.project, "x", run=team.registry()["sessions"][0]["id"])


def test_unknown_keys_of_the_files_are_kept(team: Team) -> None:
    team.begin()
    state, registry = team.read("state.json"), team.registry()
    state["their_own"] = state["context"]["theirs_too"] = {"a": 1}
    registry["sessions"][0]["color"] = "blue"
    registry["extra"] = [1]
    put(team.directory() / "state.json", state)
    put(team.root / "sessions.json", registry)
    holdfast.action(team.project, "again")
    found = team.read("state.json")
    assert (found["their_own"], found["context"]["theirs_too"]) == ({"a": 1}, {"a": 1})
    assert (team.entry()["color"], team.registry()["extra"]) == ("blue", [1])


def test_a_status_that_somebody_else_gave_in_the_registry_is_taken_in(team: Team) -> None:
    run = team.begin().id
    registry = team.registry()
    registry["sessions"][0]["status"] = "abandoned"
    put(team.root / "sessions.json", registry)
    holdfast.runs(team.project)
    assert run_of(team.project, run).status is Status.ABANDONED
    assert team.entry(run)["resumable"] is False


def test_trap_registry_lost_is_made_again_from_the_journal(team: Team) -> None:
    first, second = team.begin("one").id, team.begin("two").id
    (team.root / "sessions.json").unlink()
    holdfast.status(team.project)
    assert [entry["id"] for entry in team.registry()["sessions"]] == [first, second]
    (team.directory(second) / "state.json").unlink()
    holdfast.status(team.project)
    assert team.read("state.json", second)["session_id"] == second


def test_all_files_can_be_lost_and_are_made_again_from_the_journal(team: Team) -> None:
    team.begin()
    team.work("init", "requirements")
    before = {path.name: path.read_text() for path in team.directory().iterdir() if path.name.startswith("cp-")}
    shutil.rmtree(team.root)
    holdfast.status(team.project)
    holdfast.action(team.project, "on")
    after = {path.name: path.read_text() for path in team.directory().iterdir() if path.name.startswith("cp-")}
    assert after == before
    assert (team.root / ".gitignore").exists()


def test_a_damaged_file_is_told_of_and_left_alone(team: Team) -> None:
    team.begin()
    (team.directory() / "state.json").write_text("{ torn")
    holdfast.action(team.project, "again")
    assert (team.directory() / "state.json").read_text() == "{ torn"
    assert any("state.json cannot be read" in warning for warning in team.project.warnings)


def test_trap_state_json_tmp_left_behind_does_not_matter(team: Team) -> None:
    team.begin()
    (team.directory() / "state.json.tmp").write_text("{ torn")
    (team.directory() / ".state.json.0123456789ab").write_text("{ torn")
    holdfast.action(team.project, "again")
    assert team.read("state.json")["context"]["last_action"] == "again"
    assert not (team.directory() / ".state.json.0123456789ab").exists()
    assert (team.directory() / "state.json.tmp").exists()


def test_links_in_the_place_of_files_and_directories_are_not_followed(team: Team, project: Workspace) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    run = team.begin().id
    target = outside / "secret.json"
    target.write_text("{}")
    state = team.directory(run) / "state.json"
    state.unlink()
    state.symlink_to(target)
    holdfast.action(project, "again")
    assert target.read_text() == "{}"
    team.directory(run).rename(outside / "moved")
    team.directory(run).symlink_to(outside / "moved")
    before = (outside / "moved" / "manifest.json").read_text()
    holdfast.action(project, "and again")
    assert (outside / "moved" / "manifest.json").read_text() == before


def test_what_stands_in_the_place_of_a_file_is_told_of_and_the_action_is_kept_all_the_same(team: Team) -> None:
    run = team.begin().id
    (team.directory(run) / "state.json").unlink()
    (team.directory(run) / "state.json").mkdir()
    holdfast.action(team.project, "kept all the same")
    assert run_of(team.project).actions[-1].text == "kept all the same"
    assert any("state.json" in warning for warning in team.project.warnings)
    shutil.rmtree(team.root)
    team.root.write_text("a file")
    holdfast.action(team.project, "and again")
    assert run_of(team.project).actions[-1].text == "and again"
    assert any("not a directory" in warning for warning in team.project.warnings)
    team.root.unlink()


def test_a_rollback_leaves_later_checkpoints_behind_and_says_who_did(team: Team) -> None:
    team.begin()
    team.work("init", "requirements", "architecture")
    holdfast.metric(team.project, "late", "1")
    went = holdfast.rollback(team.project, "1")
    assert went.restore is not None
    listed = team.read("manifest.json")["checkpoints"]
    assert [point["valid"] for point in listed] == [True, False, False]
    assert {point["invalidated_by"] for point in listed[1:]} == {went.restore.id}
    assert not (team.project.root / "requirements.go").exists()
    assert "late" not in team.read("state.json")["state"]["metrics"]
    (record,) = team.read("rollback-history.json")["history"]
    assert (record["id"], record["from_step"], record["to_step"]) == (went.restore.id, 3, 1)
    assert record["reason"] == "observer_requested"
    assert team.entry()["current_step"] == 2


def test_undo_takes_a_rollback_back_and_the_history_keeps_both(team: Team) -> None:
    team.begin()
    team.work("init", "requirements")
    holdfast.rollback(team.project, "1")
    holdfast.undo(team.project)
    assert [point["valid"] for point in team.read("manifest.json")["checkpoints"]] == [True, True]
    assert (team.project.root / "requirements.go").exists()
    assert [record["reason"] for record in team.read("rollback-history.json")["history"]] == [
        "observer_requested",
        "undo",
    ]


def test_g15_a_step_that_has_none_and_the_same_point_again_are_refused(team: Team) -> None:
    team.begin()
    team.work("init", "requirements")
    with pytest.raises(NotFound, match="Step 7"):
        holdfast.rollback(team.project, "7")
    with pytest.raises(Refused, match="already"):
        holdfast.rollback(team.project, "2")
    team.write("more.go", "x")
    assert holdfast.rollback(team.project, "2").removed == 1


def test_g17_the_manifest_has_the_last_ten_rollbacks_and_the_history_all(team: Team) -> None:
    team.begin()
    team.work("init")
    for _ in range(12):
        holdfast.action(team.project, "something")
        holdfast.rollback(team.project, "1")
    assert len(team.read("rollback-history.json")["history"]) == 12
    assert team.read("manifest.json")["rollback_history"] == team.read("rollback-history.json")["history"][-10:]


def test_trap_invalidated_cp_chosen_again_is_refused_with_the_way_out(team: Team) -> None:
    team.begin()
    team.work("init", "requirements")
    later = team.points()[1]
    holdfast.rollback(team.project, "1")
    for name in (later, "2"):
        with pytest.raises(Refused, match="not valid") as found:
            holdfast.rollback(team.project, name)
        assert any("holdfast undo" in hint for hint in found.value.hints)
    team.work("requirements")
    assert [point["valid"] for point in team.read("manifest.json")["checkpoints"]] == [True, False, True]
    holdfast.action(team.project, "x")
    assert holdfast.rollback(team.project, "2").restore


def test_two_workspaces_on_one_session_do_not_lose_each_others_actions(team: Team) -> None:
    team.begin()
    other = with_environ(team.project)
    for number in range(5):
        holdfast.action(team.project, f"mine {number}")
        holdfast.action(other, f"theirs {number}")
    assert run_of(team.project).standing.actions == 10
    assert team.read("state.json")["recovery_point"]["actions_since_checkpoint"] == 10


def test_the_live_state_is_never_older_than_its_checkpoint(team: Team) -> None:
    team.begin()
    for step in ("init", "requirements"):
        team.work(step)
        point = team.read(f"{team.points()[-1]}.json")
        assert team.read("state.json")["saved_at"] >= point["created_at"]


def test_the_events_of_a_team_are_in_the_journal(team: Team) -> None:
    team.begin()
    team.work("init")
    assert kinds_of(team.project) == ["run.started", "step.planned", "action.taken", "step.completed", "step.kept"]
    assert json.dumps(team.registry())


@pytest.mark.defect("a misspelt step of a Go Team run became a new step with the number 6x")
@pytest.mark.parametrize("act", ["start", "complete", "fail"])
def test_an_unknown_step_is_refused_with_the_nearest_name_unless_it_is_new(team: Team, act: str) -> None:
    run = team.begin().id
    acts = {
        "start": holdfast.start_step,
        "complete": holdfast.complete_step,
        "fail": lambda *given, **options: holdfast.fail_step(*given, error="red", **options),
    }
    with pytest.raises(holdfast.NotFound, match='no step "implmentation"') as refused:
        acts[act](team.project, "implmentation")
    assert "did you mean `implementation`?" in refused.value.hints
    assert [step.name for step in run_of(team.project, run).steps if not step.planned] == []
    for word in ("12", "7c"):
        with pytest.raises(holdfast.NotFound):
            acts[act](team.project, word)
    assert acts[act](team.project, "deployment", new=True).step.name == "deployment"
    assert acts[act](team.project, "deployment").step.name == "deployment", "it is known from then on"


def test_the_review_step_is_also_known_by_the_name_of_its_file(team: Team) -> None:
    team.begin()
    for word in ("review-loop", "step-06-review-loop", "6"):
        assert holdfast.start_step(team.project, word).step.name == "review"
    assert team.entry()["current_step"] == 6
