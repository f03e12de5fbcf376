"""The rulings on what the orchestrator's documents leave open, one by one (O1 to O19), and what broke elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Status
from holdfast.layouts.orchestrator import HISTORY, SESSION
from holdfast.layouts.registry import find_rules
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.orchestrator_files import GENERATIONS, File, predecessor, schema_1_0, teleport
from tests.orchestrator_project import (
    agree,
    archived,
    edit,
    orchestrate,
    put_session,
    session_of,
    session_path,
)
from tests.sessions import a_process, kill, kinds_of, run_of


@pytest.mark.parametrize("version", ["2.0", 2, "0.9", "latest", True])
def test_O1_another_major_version_is_reported_and_never_overwritten(project: Workspace, version: object) -> None:
    data = put_session(project, {**schema_1_0(), "schema_version": version})
    holdfast.status(project)
    assert any("another version" in warning for warning in project.warnings)
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    holdfast.complete(project)
    orchestrate(project, "again")
    assert session_path(project).read_bytes() == data
    assert archived(project) == {}


@pytest.mark.parametrize("version", [1, 1.0, "1", "1.0.3", None])
def test_O1_a_session_of_our_version_is_gone_on_with_and_written_as_1_0(project: Workspace, version: object) -> None:
    put_session(project, {**schema_1_0(), "schema_version": version})
    assert holdfast.resume(project).run.goal == schema_1_0()["goal"]
    assert session_of(project)["schema_version"] in (version, "1.0")
    agree(project)


@pytest.mark.parametrize("make", GENERATIONS.values(), ids=GENERATIONS)
def test_O2_a_file_of_every_generation_becomes_a_run_and_is_written_in_the_names_of_1_0(
    project: Workspace, make: Callable[[], File]
) -> None:
    put_session(project, make())
    run = holdfast.resume(project).run
    assert (run.id, run.goal, run.layout) == (make()["session_id"], make()["goal"], "orchestrator")
    file = session_of(project)
    assert file["schema_version"] in ("1.0", "1.0.0")
    assert not {"started", "created_at", "next_actions", "progress"} & set(file)
    assert [one["progress"] for one in file["agents"] if one["status"] == "in_progress"] == [60]
    agree(project)


def test_O2_reading_the_same_file_again_changes_nothing(project: Workspace) -> None:
    put_session(project, teleport())
    holdfast.status(project)
    before, events = session_path(project).read_bytes(), kinds_of(project)
    holdfast.status(project)
    assert (session_path(project).read_bytes(), kinds_of(project)) == (before, events)


DAMAGED = {
    "empty": b"",
    "null": b"null",
    "an array": b"[]",
    "cut off": json.dumps(schema_1_0()).encode()[:400],
    "not UTF-8": b'{"goal": "\xff"}',
    "a merge conflict": b"<<<<<<< HEAD\n" + json.dumps(schema_1_0()).encode(),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_O3_a_damaged_file_offers_ways_out_and_is_kept_aside_by_each(project: Workspace, data: bytes) -> None:
    orchestrate(project)
    put_session(project, data)
    holdfast.start_agent(project, "code", "x")
    assert session_path(project).read_bytes() == data
    offered = holdfast.recover(project)
    assert (offered.why is not None, list(offered.choices)) == (True, ["copy", "fresh", "history", "manual"])
    done = holdfast.recover(project, "copy")
    assert done.aside is not None
    assert re.fullmatch(re.escape(SESSION) + r".corrupt-[0-9]{8}-[0-9]{6}", done.aside)
    assert (project.root / done.aside).read_bytes() == data
    assert [worker.id for worker in agree(project).workers] == ["code-1"]


def test_O3_the_copy_of_the_journal_has_what_others_wrote_beside_it(project: Workspace) -> None:
    put_session(project, {**schema_1_0(), "theirs": {"kept": [1]}})
    holdfast.status(project)
    put_session(project, b"{")
    holdfast.recover(project, "copy")
    assert session_of(project)["theirs"] == {"kept": [1]}
    agree(project)


def test_O3_starting_fresh_archives_what_the_journal_knows(project: Workspace) -> None:
    run = orchestrate(project)
    put_session(project, b"{")
    done = holdfast.recover(project, "fresh")
    assert (done.run, session_path(project).exists()) == (None, False)
    assert list(archived(project)) == [f"{run.id}.json"]
    with pytest.raises(NotFound, match="No session to resume"):
        holdfast.resume(project)


def test_O3_manual_recovery_extracts_what_still_parses(project: Workspace) -> None:
    text = json.dumps(schema_1_0(), indent=2)
    put_session(project, text[: text.index('"decisions_made"')].encode())
    assert list(holdfast.recover(project).choices) == ["fresh", "history", "manual"]
    done = holdfast.recover(project, "manual")
    assert {"session_id", "goal", "agents", "completed_work", "pending_tasks"} <= set(done.found)
    run = agree(project)
    assert (run.id, run.goal) == ("2025-12-27-abc123", schema_1_0()["goal"])
    assert [worker.id for worker in run.workers] == ["arch-1", "code-1"]


def test_O3_manual_recovery_takes_nothing_from_what_the_journal_knows(project: Workspace) -> None:
    put_session(project, schema_1_0())
    holdfast.complete_agent(project, "code-1", result="ok")
    holdfast.add_task(project, "of the journal")
    put_session(project, json.dumps(schema_1_0()).replace('"errors": []', '"errors": [').encode())
    holdfast.recover(project, "manual")
    run = agree(project)
    assert [worker.status for worker in run.workers] == ["complete", "complete"]
    assert "of the journal" in [task.text for task in run.open_tasks]


def test_O3_two_damaged_files_in_one_second_are_both_kept(project: Workspace, clock: TickingClock) -> None:
    orchestrate(project)
    for data in (b"{", b"["):
        put_session(project, data)
        now = clock.time
        holdfast.recover(project, "copy")
        clock.time = now - timedelta(seconds=30)
    kept = {path.read_bytes() for path in session_path(project).parent.glob("*.corrupt-*")}
    assert kept == {b"{", b"["}


def test_O3_a_whole_file_needs_no_recovery_and_an_unknown_way_out_is_refused(project: Workspace) -> None:
    orchestrate(project)
    assert holdfast.recover(project, "fresh").why is None
    put_session(project, b"{")
    with pytest.raises(WrongUsage, match='There is no way out called "nonsense"'):
        holdfast.recover(project, "nonsense")
    assert session_path(project).read_bytes() == b"{"


def test_O4_times_in_the_file_are_utc_with_a_z(project: Workspace) -> None:
    put_session(project, predecessor())
    holdfast.start_agent(project, "code", "x")
    file = session_of(project)
    times = [file["created"], file["updated"], file["agents"][-1]["started"], file["decisions_made"][0]["timestamp"]]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in times)
    assert file["created"] == "2025-12-27T10:30:00Z"


def test_O5_the_directories_are_made_and_a_write_leaves_nothing_beside_the_file(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    assert [path.name for path in session_path(project).parent.iterdir()] == [session_path(project).name]
    holdfast.complete(project)
    assert [path.name for path in session_path(project).parent.iterdir()] == ["orchestrator-history"]


def test_O6_an_archive_of_the_same_name_is_kept_and_ours_gets_another(project: Workspace) -> None:
    run = orchestrate(project)
    other = {**schema_1_0(), "session_id": run.id}
    (project.root / HISTORY).mkdir()
    (project.root / HISTORY / f"{run.id}.json").write_text(json.dumps(other))
    holdfast.abort(project)
    found = archived(project)
    assert found[f"{run.id}.json"] == other
    assert (found[f"{run.id}-2.json"]["goal"], found[f"{run.id}-2.json"]["status"]) == ("Add retries", "aborted")


def test_O6_the_file_stays_while_the_archive_cannot_be_written(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    before = session_path(project).read_bytes()
    (project.root / HISTORY).write_text("in the way")
    assert holdfast.complete(project).run.status == "completed"
    assert session_path(project).read_bytes() == before
    assert any("is not written" in warning for warning in project.warnings)
    (project.root / HISTORY).unlink()
    holdfast.status(project)
    assert not session_path(project).exists()
    assert [file["status"] for file in archived(project).values()] == ["complete"]


def test_O7_history_is_in_the_order_of_creation_and_a_bad_file_is_named_and_passed_over(project: Workspace) -> None:
    directory = project.root / HISTORY
    directory.mkdir(parents=True)
    for name, created in (("a", "2025-12-03T00:00:00Z"), ("b", "2025-12-01T00:00:00Z"), ("c", "2025-12-02T00:00:00Z")):
        file = {
            **schema_1_0(),
            "session_id": f"2025-12-27-{name}",
            "created": created,
            "goal": name,
            "status": "complete",
        }
        (directory / f"2025-12-27-{name}.json").write_text(json.dumps(file))
    (directory / "bad.json").write_text("{")
    (directory / "odd.json").write_text('{"schema_version": "1.0"}')
    (directory / "new.json").write_text('{"schema_version": "7", "session_id": "x"}')
    found = holdfast.past_runs(project)
    assert [(run.goal, run.status) for run in found.runs] == [(goal, "completed") for goal in "acb"]
    said = "\n".join(project.warnings)
    assert all(name in said for name in ("bad.json", "odd.json", "new.json"))
    assert [run.goal for run in holdfast.past_runs(project, 1).runs] == ["a"]
    assert holdfast.past_runs(project, 1).more


def test_O8_abort_archives_and_removes_the_current_file(project: Workspace) -> None:
    run = orchestrate(project)
    holdfast.abort(project)
    assert not session_path(project).exists()
    assert archived(project)[f"{run.id}.json"]["status"] == "aborted"
    agree(project, run.id)


def test_O9_only_a_session_that_is_complete_is_archived_at_its_end(project: Workspace) -> None:
    with a_process() as agent:
        run = orchestrate(project, pid=agent.pid)
        kill(agent)
    holdfast.status(project)
    assert session_path(project).exists()
    assert archived(project) == {}
    holdfast.resume(project)
    holdfast.complete(project)
    assert archived(project)[f"{run.id}.json"]["status"] == "complete"
    assert not session_path(project).exists()


def test_O10_a_session_that_was_interrupted_is_in_progress_and_is_resumed(project: Workspace) -> None:
    with a_process() as agent:
        run = orchestrate(project, pid=agent.pid)
        holdfast.start_agent(project, "code", "x")
        kill(agent)
    assert holdfast.status(project).run is not None
    assert run_of(project, run.id).status == "interrupted"
    assert session_of(project)["status"] == "in_progress"
    assert holdfast.resume(project).run.status == "active"
    assert holdfast.pause(project).run.status == "paused"
    assert session_of(project)["status"] == "paused"
    assert holdfast.resume(project).run.status == "active"


ALLOWED = {
    ("created", "resume"), ("created", "abort"), ("active", "pause"), ("active", "complete"), ("active", "abort"),
    ("active", "resume"), ("paused", "resume"), ("paused", "abort"), ("paused", "pause"), ("interrupted", "resume"),
    ("interrupted", "abort"), ("interrupted", "pause"), ("interrupted", "complete"), ("completed", "complete"),
    ("aborted", "abort"),
}  # fmt: skip


@pytest.mark.parametrize("move", ["resume", "pause", "complete", "abort"])
@pytest.mark.parametrize("status", ["created", "active", "paused", "interrupted", "completed", "aborted"])
def test_O11_these_transitions_are_allowed_and_all_others_refused_with_the_way_out(status: str, move: str) -> None:
    if (status, move) in ALLOWED:
        transition(Status(status), Move(move), find_rules("orchestrator"))
        return
    with pytest.raises(Refused) as error:
        transition(Status(status), Move(move), find_rules("orchestrator"))
    assert error.value.hints


def test_O11_abort_comes_from_created_in_progress_and_paused(project: Workspace) -> None:
    for moves in ((), (holdfast.resume,), (holdfast.resume, holdfast.pause)):
        run = orchestrate(project)
        for move in moves:
            move(project)
        assert holdfast.abort(project).run.status == "aborted"
        with pytest.raises(Refused):
            holdfast.resume(project, run.id)


def test_O12_an_archived_session_is_resumed_only_by_name_and_only_if_it_is_not_final(project: Workspace) -> None:
    first = orchestrate(project, "first")
    holdfast.start_agent(project, "code", "x")
    second = orchestrate(project, "second")
    assert [run.id for run in holdfast.past_runs(project).runs] == [first.id]
    assert holdfast.resume(project).run.id == second.id
    assert holdfast.resume(project, first.id).run.status == "active"
    assert session_of(project)["goal"] == "first"
    assert list(archived(project)) == [f"{second.id}.json"]
    agree(project, first.id)
    holdfast.complete(project, first.id)
    with pytest.raises(Refused, match="cannot resume"):
        holdfast.resume(project, first.id)
    with pytest.raises(NotFound, match="No session to resume"):
        holdfast.resume(project)


def test_O13_an_abandoned_session_of_the_history_is_aborted(project: Workspace) -> None:
    (project.root / HISTORY).mkdir(parents=True)
    file = {**schema_1_0(), "status": "abandoned"}
    (project.root / HISTORY / "2025-12-27-abc123.json").write_text(json.dumps(file))
    assert [run.status for run in holdfast.past_runs(project).runs] == ["aborted"]
    assert archived(project)["2025-12-27-abc123.json"] == file


def test_O14_progress_is_the_mean_of_the_agents(project: Workspace) -> None:
    put_session(project, schema_1_0())
    assert holdfast.list_agents(project).progress == 80


@pytest.mark.parametrize("move", [None, holdfast.pause, holdfast.resume])
def test_O15_a_new_session_archives_the_current_one_with_its_status(
    project: Workspace, move: Callable[[Workspace], object] | None
) -> None:
    first = orchestrate(project, "first")
    holdfast.resume(project)
    if move:
        move(project)
    word = session_of(project)["status"]
    second = orchestrate(project, "second")
    assert archived(project)[f"{first.id}.json"]["status"] == word
    assert session_of(project)["session_id"] == second.id
    assert run_of(project, first.id).status == ("paused" if word == "paused" else "active")
    agree(project, first.id)
    agree(project, second.id)


def test_O16_an_unknown_agent_is_an_error_and_numbers_go_on(project: Workspace) -> None:
    put_session(project, schema_1_0())
    with pytest.raises(NotFound):
        holdfast.complete_agent(project, "code-9")
    assert holdfast.start_agent(project, "code", "x").agent.id == "code-2"


def test_O17_errors_have_a_time_an_agent_and_a_text(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    holdfast.fail_agent(project, "code-1", error="red")
    holdfast.error(project, "full disk")
    found = session_of(project)["errors"]
    assert [(met["agent"], met["error"]) for met in found] == [("code-1", "red"), (None, "full disk")]
    assert all(set(met) == {"timestamp", "agent", "error"} for met in found)


def test_O17_a_session_that_failed_is_aborted_with_an_error(project: Workspace) -> None:
    run = orchestrate(project)
    holdfast.fail(project, reason="no way")
    file = archived(project)[f"{run.id}.json"]
    assert (file["status"], [met["error"] for met in file["errors"]]) == ("aborted", ["no way"])


@pytest.mark.parametrize(("window", "percentage"), [(None, 20), (200_000, 12)])
def test_O18_the_percentage_is_of_the_real_window_or_of_128000_tokens(
    project: Workspace, window: int | None, percentage: int
) -> None:
    orchestrate(project)
    holdfast.budget(project, used=25_000, window=window)
    assert session_of(project)["context_usage"]["percentage"] == percentage


def test_O19_the_limits_of_a_mode_are_shown_and_nothing_is_refused(project: Workspace) -> None:
    orchestrate(project, mode="debug")
    for _ in range(3):
        holdfast.start_agent(project, "code", "x")
    found = holdfast.budget(project, used=120_000)
    assert (found.mode, found.at_once, found.compress_at) == ("debug", 1, 90)
    assert "3 agents are at work; mode debug advises 1 at once" in found.advice
    assert "mode debug compresses at 90 %: save, then compress" in found.advice


# What broke elsewhere


def test_trap_history_dir_absent(project: Workspace) -> None:
    orchestrate(project)
    assert holdfast.past_runs(project).runs == []
    holdfast.abort(project)
    assert len(archived(project)) == 1


def test_trap_archive_of_a_session_without_goal(project: Workspace) -> None:
    file = schema_1_0()
    del file["goal"]
    put_session(project, file)
    holdfast.status(project)
    holdfast.complete(project)
    assert archived(project)["2025-12-27-abc123.json"]["goal"] == ""
    assert [run.goal for run in holdfast.past_runs(project).runs] == [""]


def test_trap_continue_on_complete(project: Workspace) -> None:
    put_session(project, {**schema_1_0(), "status": "complete"})
    with pytest.raises(NotFound, match="No session to resume"):
        holdfast.resume(project)
    with pytest.raises(Refused, match="cannot resume") as error:
        holdfast.resume(project, "2025-12-27-abc123")
    assert error.value.hints
    assert archived(project)["2025-12-27-abc123.json"]["status"] == "complete"


def test_trap_session_file_from_a_teleport_schema(project: Workspace) -> None:
    put_session(project, teleport())
    run = holdfast.resume(project).run
    assert [(worker.id, worker.status) for worker in run.workers] == [
        ("arch-1", "complete"),
        ("code-1", "in_progress"),
        ("test-1", "failed"),
    ]
    file = session_of(project)
    assert (file["device"], file["metadata"]["tags"]) == ("MacBook Pro", ["authentication"])
    assert file["decisions_made"][0]["options"] == ["JWT", "Session Cookies", "Hybrid"]


def test_trap_a_failed_resume_does_not_mark_the_session(project: Workspace) -> None:
    run = orchestrate(project)
    with a_process() as other:
        holdfast.join(project, run.id, pid=other.pid)
        before = run_of(project).status
        with pytest.raises(holdfast.Busy):
            holdfast.resume(project)
        assert run_of(project).status == before


def test_trap_an_older_version_that_git_brought_back_takes_nothing_away(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    older = session_of(project)
    holdfast.complete_agent(project, "code-1", result="ok")
    holdfast.decide(project, "Use SQLite")
    holdfast.add_task(project, "Ship it")
    put_session(project, {**older, "pending_tasks": ["of the old one"]})
    holdfast.status(project)
    run = agree(project)
    assert [worker.status for worker in run.workers] == ["complete"]
    assert [made.text for made in run.standing_decisions] == ["Use SQLite"]
    assert [task.text for task in run.open_tasks] == ["Ship it", "of the old one"]


def test_trap_a_local_time_without_a_zone_makes_no_change_an_old_one(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    agent = {**session_of(project)["agents"][0], "status": "complete"}
    edit(project, agents=[agent], updated="2026-01-01T05:00:00.123456")
    assert [worker.status for worker in run_of(project).workers] == ["complete"]
    agree(project)
