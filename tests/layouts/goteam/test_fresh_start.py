"""A fresh start of a Go Team run: a clean slate, from which everything that was there can be brought back."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.core.errors import Refused
from holdfast.project.workspace import Workspace
from tests.go_team_project import Team, put
from tests.layouts.goteam.test_recovery import died
from tests.sessions import run_of


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def started_fresh(team: Team) -> tuple[str, str]:
    """A run that was started fresh: its id, and the checkpoint of what it was."""
    run = died(team)
    holdfast.metric(team.project, "build_pass", "true", run=run)
    holdfast.output(team.project, "spec", "# The spec", run=run)
    holdfast.add_task(team.project, "Wire DI", run=run)
    holdfast.decide(team.project, "JWT", because="it is asked for", run=run)
    found = holdfast.resume(team.project, run, start_from="fresh")
    assert found.kept is not None
    return run, found.kept


def test_the_live_state_is_a_clean_slate_and_what_was_decided_stays(team: Team) -> None:
    run, _ = started_fresh(team)
    state = team.read("state.json", run)
    assert (state["state"]["current_step"], state["state"]["phase"]) == (1, "init")
    assert state["state"]["current_agent"] == "orchestrator"
    assert state["state"]["metrics"]["build_pass"] is False
    assert state["context"] == {"last_action": None, "pending_tasks": [], "current_file": None, "current_line": None}
    assert (state["outputs"]["spec"], state["outputs"]["code_files"]) == (None, [])
    assert state["recovery_point"]["checkpoint"] is None
    assert state["recovery_point"]["actions_since_checkpoint"] == 0
    entry = team.entry(run)
    assert (entry["status"], entry["current_step"], entry["current_checkpoint"]) == ("active", 1, None)
    assert (entry["progress"]["percentage"], entry["recovery_type"]) == (0, "fresh_start")
    assert [made.text for made in run_of(team.project, run).standing_decisions] == ["JWT"]
    assert (team.project.root / "half.go").read_text() == "package half\n"


def test_the_old_checkpoints_stay_where_they_are_and_count_no_more(team: Team) -> None:
    run = died(team)
    (name,) = team.points(run)
    before = (team.directory(run) / f"{name}.json").read_bytes()
    holdfast.resume(team.project, run, start_from="fresh")
    (listed,) = team.read("manifest.json", run)["checkpoints"]
    assert (listed["id"], listed["valid"]) == (name, False)
    assert listed["invalidated_by"].startswith("res-")
    with pytest.raises(Refused, match="not valid"):
        holdfast.rollback(team.project, name)
    team.work("init")
    assert [point["valid"] for point in team.read("manifest.json", run)["checkpoints"]] == [False, True]
    assert (team.directory(run) / f"{name}.json").read_bytes() == before
    assert team.entry(run)["progress"]["steps_completed"] == 1


def test_what_others_put_into_the_old_files_stays(team: Team) -> None:
    run = died(team)
    holdfast.status(team.project)
    for name in ("state.json", "manifest.json", "recovery.json"):
        put(team.directory(run) / name, {**team.read(name, run), "theirs": name})
    holdfast.resume(team.project, run, start_from="fresh")
    assert [team.read(name, run)["theirs"] for name in ("state.json", "manifest.json")] == [
        "state.json",
        "manifest.json",
    ]
    holdfast.fail_step(team.project, "init", error="red")
    assert team.read("recovery.json", run)["theirs"] == "recovery.json"


def test_a_fresh_start_can_be_taken_back_whole(team: Team) -> None:
    run, kept = started_fresh(team)
    (team.project.root / "half.go").unlink()
    team.work("init", "requirements")
    holdfast.restore(team.project, kept, state=True)
    state = team.read("state.json", run)
    assert state["context"]["last_action"] == "Testing half.go"
    assert state["context"]["pending_tasks"] == ["Wire DI"]
    assert (state["outputs"]["spec"], state["state"]["metrics"]["build_pass"]) == ("# The spec", True)
    assert (team.project.root / "half.go").read_text() == "package half\n"
    assert [point["valid"] for point in team.read("manifest.json", run)["checkpoints"]] == [True, False, False]
    assert team.entry(run)["progress"]["steps_completed"] == 1
    holdfast.undo(team.project)
    assert team.read("state.json", run)["context"]["last_action"] == "Writing requirements.go"


def test_a_fresh_start_of_a_run_whose_worktree_is_kept_already_keeps_what_it_knew(team: Team) -> None:
    run = team.begin().id
    team.work("init")
    holdfast.pause(team.project)
    first = holdfast.resume(team.project, run, start_from="fresh").kept
    second = holdfast.resume(team.project, run, start_from="fresh").kept
    assert first is not None
    assert second is not None
    assert first != second
    holdfast.restore(team.project, first, state=True)
    assert team.entry(run)["progress"]["steps_completed"] == 1
