"""Going back and going on in a Go Team run where git, files or people are not as one hopes."""

from __future__ import annotations

import subprocess

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused
from holdfast.core.model import Status
from holdfast.core.recovery_options import recommended
from holdfast.project.workspace import Workspace
from tests.go_team_project import Team, demonstration
from tests.sessions import run_of

DEMO = "test-session-001"


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def git(team: Team, *words: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "advice.detachedHead=false"]
    done = subprocess.run(["git", *settings, *words], cwd=team.project.root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(team: Team) -> None:
    git(team, "add", ".")
    git(team, "commit", "-q", "--allow-empty", "-m", "so far")


def two_steps(team: Team) -> None:
    team.begin()
    team.work("init", "requirements")


def goes_back_and_forth(team: Team) -> None:
    """Back to the first step and forth again; what git has does not change by that."""
    before = [git(team, "status", "--porcelain=v2", "--branch"), git(team, "for-each-ref", "refs/heads")]
    holdfast.rollback(team.project, "1")
    assert (team.project.root / "init.go").exists()
    assert not (team.project.root / "requirements.go").exists()
    assert git(team, "for-each-ref", "refs/heads") == before[1]
    holdfast.undo(team.project)
    assert (team.project.root / "requirements.go").exists()
    assert [git(team, "status", "--porcelain=v2", "--branch"), git(team, "for-each-ref", "refs/heads")] == before


def test_trap_rollback_with_dirty_tree_keeps_what_was_not_committed(team: Team) -> None:
    team.write("tracked.go", "as committed")
    commit(team)
    two_steps(team)
    team.write("tracked.go", "changed")
    team.write("untracked.go", "new")
    goes_back_and_forth(team)
    assert (team.project.root / "tracked.go").read_text() == "changed"
    assert (team.project.root / "untracked.go").read_text() == "new"


def test_trap_rollback_with_detached_head_moves_no_head(team: Team) -> None:
    commit(team)
    two_steps(team)
    git(team, "checkout", "-q", "--detach")
    head = git(team, "rev-parse", "HEAD")
    goes_back_and_forth(team)
    assert git(team, "rev-parse", "HEAD") == head


def test_trap_rollback_with_branch_deleted_goes_back_all_the_same(team: Team) -> None:
    commit(team)
    git(team, "checkout", "-q", "-b", "theirs")
    two_steps(team)
    git(team, "checkout", "-q", "--detach")
    git(team, "branch", "-q", "-D", "theirs")
    goes_back_and_forth(team)


def test_trap_rollback_in_a_repo_without_commits_goes_back_all_the_same(team: Team) -> None:
    two_steps(team)
    goes_back_and_forth(team)


def test_trap_rollback_with_missing_commit_is_refused_and_nothing_changes(team: Team) -> None:
    demonstration(team.root)
    events = run_of(team.project, DEMO).seq
    with pytest.raises(NotFound) as found:
        holdfast.rollback(team.project, "2", run=DEMO)
    assert ("commit", "2" * 40) in found.value.facts
    with pytest.raises(NotFound) as found:
        holdfast.resume(team.project, DEMO, start_from="checkpoint")
    assert any(f"holdfast resume {DEMO} --from live" in hint for hint in found.value.hints)
    assert run_of(team.project, DEMO).seq == events


def test_a_way_whose_code_is_not_here_is_not_recommended(team: Team) -> None:
    demonstration(team.root)
    ways = holdfast.resume(team.project, DEMO, dry_run=True).recovery
    assert recommended(ways).start_from == "live"
    assert "not in this repository" in ways[0].data_loss
    assert "✓ SESSION RESUMED" in holdfast.command(team.project, "*resume").text


def test_the_files_that_a_way_would_change_are_counted(team: Team) -> None:
    two_steps(team)
    team.write("half.go", "x")
    team.write("init.go", "changed")
    first, live, _ = holdfast.resume(team.project, dry_run=True).recovery
    assert (first.files, live.files) == (2, 0)


def test_what_was_left_behind_or_is_only_a_file_can_be_looked_at(team: Team) -> None:
    two_steps(team)
    holdfast.rollback(team.project, "1")
    with pytest.raises(Refused):
        holdfast.command(team.project, "*rollback:2 yes")
    assert "requirements.go" in holdfast.command(team.project, "*cp-show:2").text
    assert "+package requirements" in holdfast.command(team.project, "*cp-diff:1:2").text
    demonstration(team.root / "theirs").rename(team.root / DEMO)
    (team.root / "sessions.json").unlink()
    holdfast.switch(team.project, DEMO)
    shown = holdfast.command(team.project, "*cp-show:2").text
    assert "only its file is known" in shown
    assert "requirements.go" in shown


def test_resume_without_a_name_goes_on_with_the_first_row_of_the_table(team: Team) -> None:
    older = team.begin("older").id
    with team.project.writing() as journal:
        journal.append(older, holdfast.Draft("run.interrupted", {"evidence": "process 7 is gone"}))
    newer = team.begin("newer").id
    holdfast.pause(team.project)
    assert f"*resume         → Resume most recent ({older})" in holdfast.command(team.project, "*sessions").text
    assert f"Session: {newer}" in holdfast.command(team.project, "*session-info:2").text
    assert f"Session: {older}" in holdfast.command(team.project, "*resume").text
    assert run_of(team.project, older).status is Status.ACTIVE


def test_g24_cleanup_leaves_a_run_whose_checkpoints_only_its_files_know_until_they_are_exported(team: Team) -> None:
    demonstration(team.root, status="completed")
    team.begin()
    assert holdfast.cleanup(team.project, days=0, keep=0).runs == []
    assert any("cp-export" in warning for warning in team.project.warnings)
    holdfast.export_checkpoints(team.project, run=DEMO)
    assert holdfast.cleanup(team.project, days=0, keep=0).runs == [DEMO]
    assert [path.name for path in (team.root / DEMO).iterdir()] == ["exports"]


@pytest.mark.defect("an unknown, completed or failed Go Team session was refused in other words than the document's")
def test_what_cannot_be_resumed_is_refused_in_the_words_of_the_document(team: Team) -> None:
    done, broken, given_up = (team.begin(topic).id for topic in ("done", "broken", "given up"))
    holdfast.complete(team.project, done)
    holdfast.fail(team.project, broken)
    holdfast.abandon(team.project, given_up)
    for run, words in (
        (done, "Session already completed"),
        (broken, "Session failed and cannot be resumed"),
        (given_up, "Session abandoned and cannot be resumed"),
    ):
        with pytest.raises(Refused, match=words):
            holdfast.command(team.project, f"*resume:{run}")
        with pytest.raises(Refused, match=words):
            holdfast.resume(team.project, run)
    for word in ("nosuch", "99"):
        with pytest.raises(NotFound, match=f"Session not found: {word}"):
            holdfast.command(team.project, f"*session-info:{word}")


@pytest.mark.defect("`*sessions` hid completed Go Team sessions as soon as one could be resumed")
def test_sessions_lists_those_that_can_be_resumed_and_then_all_others(team: Team) -> None:
    done = team.begin("done").id
    holdfast.complete(team.project, done)
    open_one = team.begin("open").id
    holdfast.pause(team.project)
    text = holdfast.command(team.project, "*sessions").text
    first, _, second = text.partition("Other sessions:")
    assert (open_one in first, done in first, done in second) == (True, False, True)
    assert f"- *resume:{open_one.rpartition('-')[2]}" in first
    assert f"Session: {done}" in holdfast.command(team.project, "*session-info:2").text
    holdfast.complete(team.project, open_one)
    text = holdfast.command(team.project, "*sessions").text
    assert "RESUMABLE" not in text
    assert text.count("completed") == 2


@pytest.mark.defect("the screen of sessions proposed the last six characters of an id, `*resume:on-001`, as an id")
def test_an_example_on_the_screen_is_an_id_that_can_be_typed(team: Team) -> None:
    demonstration(team.root)
    text = holdfast.command(team.project, "*sessions").text
    assert f"- *resume:{DEMO}  → Resume by ID" in text


def test_the_most_recent_session_is_the_one_that_was_worked_on_last(team: Team) -> None:
    older, newer = team.begin("older").id, team.begin("newer").id
    holdfast.pause(team.project, newer)
    holdfast.resume(team.project, older)
    holdfast.action(team.project, "Writing a.go")
    holdfast.pause(team.project)
    assert f"Resume most recent ({older})" in holdfast.command(team.project, "*sessions").text
    assert f"Session: {older}" in holdfast.command(team.project, "*resume").text


def test_the_last_step_names_those_that_keep_the_session_open(team: Team) -> None:
    run = team.begin(steps=("one", "two", "three")).id
    holdfast.start_step(team.project, "two")
    assert holdfast.complete_step(team.project, "one").left == []
    done = holdfast.complete_step(team.project, "three")
    assert (done.completed, done.left) == (False, ["two"])
    assert holdfast.complete_step(team.project, "two").completed
    assert run_of(team.project, run).status is Status.COMPLETED
