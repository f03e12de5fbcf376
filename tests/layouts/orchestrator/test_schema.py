"""The orchestrator's session file as values: four generations are read, one is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core.model import Decision, Mishap, Run, Status, Task, Worker
from holdfast.layouts.orchestrator.schema import WORDS, Incompatible, read_state, render, state_of
from tests.orchestrator_files import GENERATIONS, File, predecessor, resume_command, schema_1_0, teleport
from tests.tools import NOON, a_run

PROJECT = {"name": "project", "path": "/project", "git_branch": "main"}


def a_session(**changes: Any) -> Run:
    return a_run(**{"id": "2026-01-01-abc123", "layout": "orchestrator", "mode": "default", **changes})


@pytest.mark.parametrize("make", GENERATIONS.values(), ids=GENERATIONS)
def test_O2_every_generation_of_the_file_is_read(make: Callable[[], File]) -> None:
    found, file = read_state(make()), make()
    assert (found.session_id, found.goal, found.mode) == (file["session_id"], file["goal"], "default")
    assert found.status is Status.ACTIVE
    assert found.created == file.get("created", file.get("created_at", file.get("started")))
    assert [(one.id, one.status, one.progress) for one in found.agents][1] == ("code-1", "in_progress", 60)
    assert found.agents[0].status == "complete"
    assert found.pending[0].startswith("Complete code-1 implementation")
    assert found.completed[0].task.startswith("Architecture design")


def test_O2_names_and_measures_of_the_predecessor_become_those_of_1_0() -> None:
    found = read_state(predecessor())
    assert found.pending == ["Complete code-1 implementation", "Run test suite"]
    assert [done.task for done in found.completed] == ["Architecture design complete", "Test stubs created"]
    assert [(made.decision, made.rationale) for made in found.decisions] == [("Use bootstrap for CI", "Performance")]
    assert found.tokens is None


def test_O2_names_and_measures_of_the_teleport_schema_become_those_of_1_0() -> None:
    found = read_state(teleport())
    assert [(one.id, one.status, one.progress, one.result, one.error) for one in found.agents] == [
        ("arch-1", "complete", 100, "OAuth 2.0 designed with PKCE flow", None),
        ("code-1", "in_progress", 60, None, None),
        ("test-1", "failed", 20, None, "no answer"),
    ]
    assert [(made.decision, made.rationale) for made in found.decisions] == [
        ("Hybrid", "Balance of scalability and security")
    ]
    assert found.tokens == 25000


@pytest.mark.parametrize("version", [1, 1.0, "1", "1.0", "1.0.0", "1.0.7", "1.2", None])
def test_O1_these_versions_are_ours(version: Any) -> None:
    assert read_state({**schema_1_0(), "schema_version": version}).goal


@pytest.mark.parametrize("version", [2, "2.0", 0, "0.9", "10.0", "", "one", True, ["1.0"], {}, 1e300, "1\x1b[2J0"])
def test_O1_another_major_version_is_incompatible_and_says_which(version: Any) -> None:
    with pytest.raises(Incompatible) as error:
        read_state({**schema_1_0(), "schema_version": version})
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize(
    ("word", "status"),
    [("created", Status.CREATED), ("in_progress", Status.ACTIVE), ("running", Status.ACTIVE),
     ("paused", Status.PAUSED), ("complete", Status.COMPLETED), ("completed", Status.COMPLETED),
     ("aborted", Status.ABORTED), ("Complete", Status.COMPLETED), ("error", Status.ABORTED), ("?", Status.ACTIVE)],
)  # fmt: skip
def test_a_status_is_read_in_every_word_for_it(word: str, status: Status) -> None:
    assert read_state({**schema_1_0(), "status": word}).status is status


def test_O13_abandoned_is_read_as_aborted_and_never_written() -> None:
    assert read_state({**schema_1_0(), "status": "abandoned"}).status is Status.ABORTED
    assert set(WORDS.values()) == {"created", "in_progress", "paused", "complete", "aborted"}


@pytest.mark.parametrize(
    ("status", "word"),
    [("created", "created"), ("active", "in_progress"), ("interrupted", "in_progress"), ("paused", "paused"),
     ("completed", "complete"), ("failed", "aborted"), ("aborted", "aborted"), ("abandoned", "aborted")],
)  # fmt: skip
def test_each_status_of_ours_is_written_in_the_words_of_the_document(status: str, word: str) -> None:
    assert render(a_session(status=Status(status)), {}, PROJECT, NOON)["status"] == word


def test_a_whole_session_is_written_as_the_document_shows_it() -> None:
    run = a_session(
        status=Status.ACTIVE,
        workers=[
            Worker("arch-1", "arch", "Design", "complete", NOON, NOON, result="3 methods", tokens=1500),
            Worker("code-1", "code", "Implement", started=NOON, progress=60),
            Worker("test-1", "test", "Test", "failed", NOON, NOON, error="red"),
        ],
        tasks=[
            Task("t1", "Architecture", NOON, done=NOON, outcome="3 methods", files=["R/s.R"]),
            Task("t2", "Add unit tests", NOON),
        ],
        decisions=[Decision("d1", "Use bootstrap", NOON, "accurate"), Decision("d2", "No", NOON, revoked=NOON)],
        errors=[Mishap("red", NOON, "test-1"), Mishap("full disk", NOON)],
        context_tokens=25000,
    )
    at = "2026-01-01T12:00:00Z"
    assert render(run, {}, PROJECT, NOON) == {
        "schema_version": "1.0",
        "session_id": "2026-01-01-abc123",
        "created": at,
        "updated": at,
        "project": PROJECT,
        "goal": "a goal",
        "mode": "default",
        "status": "in_progress",
        "agents": [
            {"id": "arch-1", "type": "arch", "task": "Design", "status": "complete", "started": at, "completed": at,
             "result_summary": "3 methods", "context_tokens": 1500},
            {"id": "code-1", "type": "code", "task": "Implement", "status": "in_progress", "started": at,
             "progress": 60},
            {"id": "test-1", "type": "test", "task": "Test", "status": "failed", "started": at, "completed": at,
             "error": "red"},
        ],
        "completed_work": [{"task": "Architecture", "outcome": "3 methods", "files": ["R/s.R"]}],
        "pending_tasks": ["Add unit tests"],
        "decisions_made": [{"decision": "Use bootstrap", "rationale": "accurate", "timestamp": at}],
        "context_usage": {"estimated_tokens": 25000, "percentage": 20, "last_compression": None},
        "errors": [
            {"timestamp": at, "agent": "test-1", "error": "red"},
            {"timestamp": at, "agent": None, "error": "full disk"},
        ],
    }  # fmt: skip


def test_O4_times_are_utc_with_a_z() -> None:
    written = render(a_session(workers=[Worker("code-1", "code", started=NOON)]), {}, PROJECT, NOON)
    assert (written["created"], written["updated"], written["agents"][0]["started"]) == ("2026-01-01T12:00:00Z",) * 3


@pytest.mark.parametrize(("window", "share"), [(None, 20), (128_000, 20), (200_000, 12), (1_000_000, 2)])
def test_O18_the_percentage_is_of_the_window_or_else_of_128000(window: int | None, share: int) -> None:
    run = a_session(context_tokens=25000, context_window=window)
    assert render(run, {}, PROJECT, NOON)["context_usage"]["percentage"] == share


@pytest.mark.parametrize("make", GENERATIONS.values(), ids=GENERATIONS)
def test_what_is_written_reads_as_what_it_was_made_from(make: Callable[[], File]) -> None:
    run = a_session(workers=read_state(make()).agents, status=Status.ACTIVE)
    written = render(run, make(), PROJECT, NOON)
    found, mine = read_state(written), state_of(run)
    assert [(one.id, one.status, one.result, one.error) for one in found.agents] == [
        (one.id, one.status, one.result, one.error) for one in mine.agents
    ]
    assert (found.session_id, found.status, found.created) == (mine.session_id, mine.status, mine.created)


def test_what_entries_hold_beside_our_members_is_kept() -> None:
    before = teleport()
    state = read_state(before)
    decided = [Decision("d1", made.decision, NOON, made.rationale) for made in state.decisions]
    written = render(a_session(workers=state.agents, decisions=decided), before, PROJECT, NOON)
    assert written["agents"][0]["artifacts"] == before["agents"][0]["artifacts"]
    assert written["agents"][2]["error"] == before["agents"][2]["error"]
    assert written["decisions_made"][0]["options"] == ["JWT", "Session Cookies", "Hybrid"]
    assert written["context_usage"]["by_agent"] == {"arch-1": 8000, "code-1": 12000}
    assert "started_at" not in written["agents"][0]
    assert "chosen" not in written["decisions_made"][0]


ODD: list[Any] = [None, 7, "text", True, 1.5, [], {}, [None, 7, [], {}], [{"id": 7}], {"id": "x"}]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("name", [name for name in schema_1_0() if name != "schema_version"])
def test_a_member_of_any_shape_is_read_without_a_failure(name: str, value: Any) -> None:
    file = {**schema_1_0(), name: value}
    run = a_session(workers=read_state(file).agents)
    assert render(run, file, PROJECT, NOON)["schema_version"] == "1.0"


def test_of_two_agents_with_one_id_the_first_counts() -> None:
    file = schema_1_0()
    file["agents"].append({**file["agents"][0], "task": "again"})
    assert [one.task for one in read_state(file).agents] == ["Design sensitivity API", "Implement primary method"]


@pytest.mark.parametrize(("told", "per_cent"), [(0, 0), (0.0, 0), (0.6, 60), (1.0, 100), (1, 1), (60, 60), (60.4, 60)])
def test_progress_is_of_100_or_of_1(told: float, per_cent: int) -> None:
    file = resume_command()
    file["agents"][1]["progress"] = told
    assert read_state(file).agents[1].progress == per_cent


@pytest.mark.parametrize("told", [-1, 101, "60", None, True, float("inf")])
def test_progress_that_is_none_is_unknown(told: Any) -> None:
    file = resume_command()
    file["agents"][1]["progress"] = told
    assert read_state(file).agents[1].progress is None
