"""The session file as a face: what others write in it is taken in, what they wrote beside ours is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.model import Draft
from holdfast.layouts.orchestrator import HISTORY
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.orchestrator_files import schema_1_0
from tests.orchestrator_project import agree, archived, edit, orchestrate, put_session, session_of, session_path
from tests.sessions import a_worktree, kinds_of, run_of, saving_in_between


@pytest.fixture
def begun(project: Workspace) -> Workspace:
    """A session with an agent, a task and a decision."""
    orchestrate(project)
    holdfast.start_agent(project, "code", "Write it")
    holdfast.add_task(project, "Ship it")
    holdfast.decide(project, "Use SQLite", because="one file")
    return project


def test_a_damaged_file_is_found_by_verify_which_says_what_to_do(begun: Workspace) -> None:
    assert holdfast.verify(begun).faces == []
    session_path(begun).write_text("{ half a")
    (found,) = holdfast.verify(begun).faces
    assert (found.where, "`holdfast continue`" in found.what) == (".claude/orchestrator-session.json", True)


@pytest.mark.parametrize("word", ["save", "session-save"])
@pytest.mark.defect("`save` left the `updated` of the orchestrator's session file as it was")
def test_save_writes_the_file_with_the_time_of_the_save(begun: Workspace, word: str) -> None:
    before = {**session_of(begun), "updated": None}
    for _ in range(2):
        earlier = session_of(begun)["updated"]
        holdfast.save(begun) if word == "save" else holdfast.session_save(begun)
        assert session_of(begun)["updated"] > earlier
    assert {**session_of(begun), "updated": None} == before


def test_saving_another_run_leaves_the_session_file_as_it_is(begun: Workspace) -> None:
    holdfast.start(begun, "Something native")
    before = session_path(begun).read_bytes()
    holdfast.save(begun)
    assert session_path(begun).read_bytes() == before


def test_unknown_keys_are_kept_at_the_root_and_in_entries(begun: Workspace) -> None:
    file = session_of(begun)
    file["theirs"] = {"a": [1, {"b": None}]}
    for entry in (file["agents"][0], file["decisions_made"][0], file["context_usage"], file["project"]):
        entry["theirs"] = "kept"
    put_session(begun, file)
    holdfast.progress_agent(begun, "code-1", 30)
    holdfast.finish_task(begun, "t1")
    found = session_of(begun)
    assert found["theirs"] == {"a": [1, {"b": None}]}
    for entry in (found["agents"][0], found["decisions_made"][0], found["context_usage"], found["project"]):
        assert entry["theirs"] == "kept"
    holdfast.complete(begun)
    (kept,) = archived(begun).values()
    assert (kept["theirs"], kept["agents"][0]["theirs"]) == ({"a": [1, {"b": None}]}, "kept")


def test_the_form_of_the_file_stays(begun: Workspace) -> None:
    text = session_path(begun).read_text().replace("  ", "\t").replace("\n", "\r\n")
    session_path(begun).write_bytes(text.encode())
    holdfast.progress_agent(begun, "code-1", 30)
    now = session_path(begun).read_bytes().decode()
    assert '\r\n\t"goal": "Add retries",\r\n' in now
    agree(begun)


def test_the_mode_of_the_file_stays(begun: Workspace) -> None:
    session_path(begun).chmod(0o640)
    holdfast.progress_agent(begun, "code-1", 30)
    assert session_path(begun).stat().st_mode & 0o777 == 0o640


def test_what_somebody_else_wrote_is_taken_in_before_ours_is_written(begun: Workspace) -> None:
    file = session_of(begun)
    file["agents"][0] |= {"progress": 40, "context_tokens": 7}
    file["agents"].append({"id": "test-1", "type": "test", "task": "Test it", "status": "in_progress"})
    file["completed_work"] = [{"task": "Ship it", "outcome": "shipped", "files": ["a.py"]}]
    file["pending_tasks"] = ["Tell everybody"]
    file["decisions_made"].append({"decision": "Use git", "rationale": "it is there"})
    put_session(begun, file)
    holdfast.note(begun, "beside")
    run = agree(begun)
    assert [(one.id, one.progress, one.tokens) for one in run.workers] == [("code-1", 40, 7), ("test-1", 0, None)]
    assert [(task.text, task.outcome) for task in run.tasks if task.done] == [("Ship it", "shipped")]
    assert [task.text for task in run.open_tasks] == ["Tell everybody"]
    assert [made.because for made in run.standing_decisions] == ["one file", "it is there"]


def test_what_a_stale_copy_lacks_is_kept(begun: Workspace) -> None:
    stale = session_of(begun)
    holdfast.start_agent(begun, "test", "Test it")
    holdfast.add_task(begun, "Later")
    run = run_of(begun)
    with begun.writing() as journal:
        journal.append(run.id, Draft("decision.made", {"decision": "In between"}))
    stale["updated"] = "2026-02-01T00:00:00Z"
    stale["pending_tasks"].append("Theirs")
    put_session(begun, stale)
    holdfast.status(begun)
    run = agree(begun)
    assert [one.id for one in run.workers] == ["code-1", "test-1"]
    assert "Theirs" in [task.text for task in run.open_tasks]
    assert "In between" in [made.text for made in run.standing_decisions]


@pytest.mark.parametrize(("word", "status"), [("paused", "paused"), ("complete", "completed"), ("aborted", "aborted")])
def test_a_status_that_somebody_else_wrote_counts(begun: Workspace, word: str, status: str) -> None:
    run = run_of(begun).id
    edit(begun, status=word)
    assert run_of(begun, run).status == status
    agree(begun, run)


@pytest.mark.parametrize("word", ["paused", "complete"])
def test_a_session_that_somebody_else_wrote_in_one_go_has_its_status(project: Workspace, word: str) -> None:
    put_session(project, {"schema_version": "1.0", "session_id": "2026-01-01-aaaaaa", "goal": "x", "status": word})
    holdfast.status(project)
    found = agree(project, "2026-01-01-aaaaaa")
    assert found.status == {"paused": "paused", "complete": "completed"}[word]


def test_another_session_in_the_file_sends_ours_to_the_history(begun: Workspace) -> None:
    ours = run_of(begun).id
    put_session(begun, schema_1_0())
    holdfast.status(begun)
    assert run_of(begun).id == "2025-12-27-abc123"
    assert list(archived(begun)) == [f"{ours}.json"]
    agree(begun)
    agree(begun, ours)


def test_a_file_that_somebody_removed_is_written_again_with_what_it_held_beside(begun: Workspace) -> None:
    edit(begun, theirs="kept")
    holdfast.status(begun)
    session_path(begun).unlink()
    holdfast.status(begun)
    assert session_of(begun)["theirs"] == "kept"
    agree(begun)


def test_a_file_that_somebody_moved_to_the_history_is_archived(begun: Workspace) -> None:
    run = run_of(begun).id
    file = {**session_of(begun), "status": "complete"}
    (begun.root / HISTORY).mkdir()
    (begun.root / HISTORY / f"{run}.json").write_text(json.dumps(file))
    session_path(begun).unlink()
    holdfast.status(begun)
    assert not session_path(begun).exists()
    found = agree(begun, run)
    assert (found.status, found.archived) == ("completed", f"{HISTORY}/{run}.json")
    assert len(archived(begun)) == 1


FLAWED = {
    "a key twice": '{"goal": "another", ',
    "no number": '{"odd": NaN, ',
    "too long a number": '{"odd": 1' + "0" * 5000 + ", ",
}


@pytest.mark.parametrize("beginning", FLAWED.values(), ids=FLAWED)
def test_a_file_that_would_lose_something_is_not_written_and_not_lost(begun: Workspace, beginning: str) -> None:
    data = put_session(begun, (beginning + session_path(begun).read_text()[1:]).encode())
    holdfast.progress_agent(begun, "code-1", 30)
    assert session_path(begun).read_bytes() == data
    assert any("is not written" in warning for warning in begun.warnings)
    holdfast.complete(begun)
    (aside,) = session_path(begun).parent.glob("*.corrupt-*")
    assert aside.read_bytes() == data
    assert [file["status"] for file in archived(begun).values()] == ["complete"]


@pytest.mark.parametrize("verb", [holdfast.pause, holdfast.complete, holdfast.abort, holdfast.save, holdfast.status])
def test_a_damaged_file_is_never_overwritten_and_the_journal_goes_on(begun: Workspace, verb: Any) -> None:
    data = put_session(begun, b'{"half": ')
    verb(begun)
    assert session_path(begun).read_bytes() == data
    assert archived(begun) == {}


HOSTILE: list[Any] = [
    {"session_id": "../../../etc/passwd"},
    {"session_id": "a/b"},
    {"session_id": "x" * 5000},
    {"session_id": "run-0000000000"},
    {"session_id": "12"},
    {"session_id": "\x1b[2J"},
    {"session_id": 7},
    {"session_id": ""},
    {"session_id": None},
]


@pytest.mark.parametrize("members", HOSTILE)
def test_a_session_whose_id_is_no_name_gets_one_that_is(project: Workspace, members: dict[str, Any]) -> None:
    put_session(project, {**schema_1_0(), **members})
    holdfast.start_agent(project, "test", "x")
    run = agree(project)
    assert (run.goal, [worker.id for worker in run.workers]) == (
        schema_1_0()["goal"],
        ["arch-1", "code-1", "test-1"],
    )
    assert len(holdfast.runs(project).runs) == 1
    holdfast.complete(project)
    assert list(archived(project)) == [f"{run.id}.json"]
    assert sorted(path.name for path in project.root.iterdir()) == [".claude", ".git"]


@pytest.mark.parametrize("member", [name for name in schema_1_0() if name != "schema_version"])
@pytest.mark.parametrize("value", [None, 7, "x\x1b", True, [], {}, [None, 7, {}], {"id": "x"}], ids=str)
def test_a_member_of_any_shape_breaks_nothing(project: Workspace, member: str, value: Any) -> None:
    put_session(project, {**schema_1_0(), member: value})
    holdfast.start_agent(project, "test", "x")
    agree(project)


@pytest.mark.parametrize("place", [".claude", HISTORY])
def test_a_link_out_of_the_project_is_not_followed(project: Workspace, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project.root / place).parent.mkdir(exist_ok=True)
    os.symlink(outside, project.root / place)
    orchestrate(project)
    holdfast.complete(project, holdfast.resume(project).run.id)
    holdfast.past_runs(project)
    assert list(outside.iterdir()) == []
    assert any("is not written: .claude" in warning for warning in project.warnings), project.warnings


def test_a_place_that_cannot_be_written_costs_the_journal_nothing(project: Workspace) -> None:
    (project.root / ".claude").write_text("a file")
    run = orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    assert [worker.id for worker in run_of(project, run.id).workers] == ["code-1"]
    assert any("is not written" in warning for warning in project.warnings)
    (project.root / ".claude").unlink()
    holdfast.status(project)
    agree(project)


def test_two_worktrees_have_a_session_each(begun: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    with a_worktree(begun, tmp_path / "other", clock) as other:
        there = orchestrate(other, "Elsewhere")
        holdfast.start_agent(other, "doc", "x")
        holdfast.progress_agent(begun, "code-1", 30)
        assert (session_of(begun)["goal"], session_of(other)["goal"]) == ("Add retries", "Elsewhere")
        agree(begun)
        agree(other, there.id)
        holdfast.complete(other)
        assert (len(archived(other)), archived(begun)) == (1, {})


def test_a_copy_of_the_file_in_another_worktree_is_left_alone(
    begun: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    holdfast.pause(begun)
    copy = {**session_of(begun), "status": "in_progress", "pending_tasks": []}
    with a_worktree(begun, tmp_path / "other", clock) as other:
        data = put_session(other, copy)
        holdfast.status(other)
        assert session_path(other).read_bytes() == data
        assert any("is not this worktree's" in warning for warning in other.warnings)
    run = agree(begun)
    assert (run.status, len(run.open_tasks)) == ("paused", 1)


def test_a_command_that_changes_nothing_writes_nothing(begun: Workspace) -> None:
    before, kinds = session_path(begun).stat(), kinds_of(begun)
    for look in (holdfast.status, holdfast.runs, holdfast.list_agents, holdfast.budget, holdfast.past_runs):
        look(begun)
    after = session_path(begun).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert kinds_of(begun) == kinds


def test_a_run_of_our_own_has_no_file(project: Workspace) -> None:
    holdfast.start(project, "native")
    holdfast.start_agent(project, "code", "x")
    holdfast.complete(project)
    assert not (project.root / ".claude").exists()


def test_a_run_of_our_own_beside_it_leaves_the_file_as_it_is(begun: Workspace) -> None:
    ours = run_of(begun).id
    holdfast.start(begun, "native")
    holdfast.note(begun, "x")
    assert session_of(begun)["session_id"] == ours
    assert session_of(begun)["status"] == "paused"
    assert holdfast.resume(begun, ours).run.status == "active"
    agree(begun)


def test_a_memory_that_was_lost_makes_no_event(begun: Workspace) -> None:
    kinds = kinds_of(begun)
    (memory,) = begun.place.glob("worktrees/*/session.json")
    memory.write_bytes(b"\0" * 50)
    holdfast.status(begun)
    assert kinds_of(begun) == kinds
    agree(begun)


def test_repair_makes_a_damaged_file_anew_and_keeps_it_aside(project: Workspace) -> None:
    run = orchestrate(project)
    holdfast.decide(project, "Use backoff")
    whole = session_path(project).read_bytes()
    damaged = put_session(project, whole[: len(whole) // 2])
    assert [problem.where for problem in holdfast.verify(project).faces] == [".claude/orchestrator-session.json"]
    done = holdfast.repair(project)
    assert (done.run, done.changed, done.source) == (run.id, True, "the journal")
    assert done.aside is not None
    assert (project.root / done.aside).read_bytes() == damaged
    assert agree(project).decisions[-1].text == "Use backoff"
    assert holdfast.verify(project).faces == []
    assert holdfast.repair(project).changed is False


@pytest.mark.promise(13)
def test_what_somebody_saved_in_the_moment_in_which_the_file_goes_is_taken_in(
    begun: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    saving_in_between(monkeypatch, session_path(begun).name, lambda: edit(begun, theirs="a member of their own"))
    holdfast.abandon(begun)
    (found,) = archived(begun).values()
    assert found["theirs"] == "a member of their own"
    assert not session_path(begun).exists()
