"""Agents of a run: sent out, on their way, complete or failed, in a run of any layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.operations.agent import AgentTold
from holdfast.project.workspace import Workspace
from tests.orchestrator_project import agree, orchestrate, session_of
from tests.sessions import kinds_of, run_of
from tests.tools import Command

Telling = Callable[[], AgentTold]


@pytest.fixture(params=["native", "orchestrator"])
def begun(project: Workspace, request: pytest.FixtureRequest) -> Workspace:
    holdfast.start(project, "Add retries", layout=request.param)
    return project


def test_an_agent_is_sent_out_comes_on_and_is_done(begun: Workspace) -> None:
    started = holdfast.start_agent(begun, "code", "Implement it")
    assert (started.agent.id, started.agent.status, started.changed) == ("code-1", "in_progress", True)
    assert holdfast.start_agent(begun, "code", "Another").agent.id == "code-2"
    assert holdfast.progress_agent(begun, "code-1", 60).agent.progress == 60
    done = holdfast.complete_agent(begun, "code-1", result="Three methods", tokens=3200).agent
    assert (done.status, done.result, done.tokens) == ("complete", "Three methods", 3200)
    assert run_of(begun).status == "active"


def test_the_same_told_twice_is_told_once(begun: Workspace) -> None:
    holdfast.start_agent(begun, "code", "Implement it")
    tellings: list[Telling] = [
        lambda: holdfast.progress_agent(begun, "code-1", 60),
        lambda: holdfast.complete_agent(begun, "code-1", result="ok"),
    ]
    for tell in tellings:
        assert (tell().changed, tell().changed) == (True, False)
    assert [kind for kind in kinds_of(begun) if kind.startswith("agent.")] == [
        "agent.started",
        "agent.progressed",
        "agent.completed",
    ]


def test_an_agent_that_failed_leaves_its_error_and_the_run_goes_on(begun: Workspace) -> None:
    holdfast.start_agent(begun, "test", "Test it")
    assert holdfast.fail_agent(begun, "test-1", error="red").agent.error == "red"
    run = run_of(begun)
    assert (run.status, [(met.text, met.agent) for met in run.errors]) == ("active", [("red", "test-1")])
    assert holdfast.fail_agent(begun, "test-1", error="red").changed is False


def test_one_that_has_ended_has_no_progress_any_more(begun: Workspace) -> None:
    holdfast.start_agent(begun, "code", "x")
    holdfast.complete_agent(begun, "code-1")
    with pytest.raises(WrongUsage, match="Agent code-1 is complete already"):
        holdfast.progress_agent(begun, "code-1", 10)
    with pytest.raises(WrongUsage, match="Agent code-1 is complete already"):
        holdfast.fail_agent(begun, "code-1", error="red")


def test_a_run_that_has_ended_sends_nobody_out(begun: Workspace) -> None:
    holdfast.start_agent(begun, "code", "x")
    run = holdfast.abort(begun).run.id
    with pytest.raises(Refused, match="cannot resume"):
        holdfast.start_agent(begun, "code", "y", run=run)
    assert [one.id for one in holdfast.list_agents(begun, run=run).agents] == ["code-1"]


def test_an_unknown_agent_is_not_found(begun: Workspace) -> None:
    tellings: list[Telling] = [
        lambda: holdfast.progress_agent(begun, "code-1", 10),
        lambda: holdfast.complete_agent(begun, "code-1"),
        lambda: holdfast.fail_agent(begun, "code-1", error="x"),
    ]
    for tell in tellings:
        with pytest.raises(NotFound):
            tell()
    assert holdfast.list_agents(begun).agents == []


@pytest.mark.parametrize("percent", [-1, 101])
def test_progress_is_a_per_cent(begun: Workspace, percent: int) -> None:
    holdfast.start_agent(begun, "code", "x")
    with pytest.raises(WrongUsage):
        holdfast.progress_agent(begun, "code-1", percent)


def test_the_list_knows_how_far_the_run_is_and_what_its_mode_advises(project: Workspace) -> None:
    orchestrate(project, mode="debug")
    for type in ("code", "test"):
        holdfast.start_agent(project, type, "x")
    holdfast.complete_agent(project, "code-1")
    found = holdfast.list_agents(project)
    assert (found.progress, found.at_work, found.at_once) == (50, 1, 1)


def test_one_that_failed_and_then_came_to_its_end_has_no_error_in_the_file(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "x")
    holdfast.fail_agent(project, "code-1", error="red")
    holdfast.complete_agent(project, "code-1", result="green")
    assert set(session_of(project)["agents"][0]) == {
        *("id", "type", "task", "status", "started", "completed", "result_summary")
    }
    agree(project)


def test_every_change_is_in_the_file_at_once(project: Workspace) -> None:
    orchestrate(project)
    assert session_of(project)["status"] == "created"
    holdfast.start_agent(project, "code", "Implement it")
    assert [(one["id"], one["status"], one["progress"]) for one in session_of(project)["agents"]] == [
        ("code-1", "in_progress", 0)
    ]
    assert session_of(project)["status"] == "in_progress"
    holdfast.progress_agent(project, "code-1", 60)
    assert session_of(project)["agents"][0]["progress"] == 60
    holdfast.complete_agent(project, "code-1", result="ok", tokens=9)
    assert session_of(project)["agents"][0]["result_summary"] == "ok"
    holdfast.start_agent(project, "test", "Test it")
    holdfast.fail_agent(project, "test-1", error="red")
    assert session_of(project)["errors"][0]["error"] == "red"
    holdfast.decide(project, "Use SQLite", because="one file")
    assert session_of(project)["decisions_made"][0]["rationale"] == "one file"
    task = holdfast.add_task(project, "Ship it").entry
    assert session_of(project)["pending_tasks"] == ["Ship it"]
    holdfast.finish_task(project, task, outcome="shipped", files=("a.py",))
    assert session_of(project)["completed_work"] == [{"task": "Ship it", "outcome": "shipped", "files": ["a.py"]}]
    holdfast.error(project, "full disk")
    assert session_of(project)["errors"][1]["agent"] is None
    holdfast.budget(project, used=25_000)
    assert session_of(project)["context_usage"]["percentage"] == 20
    holdfast.compressed(project)
    assert session_of(project)["context_usage"]["last_compression"] is not None
    holdfast.pause(project)
    assert session_of(project)["status"] == "paused"
    agree(project)


@pytest.mark.defect("an agent at work could not tell how many tokens it took: `agent progress` had no `--tokens`")
def test_an_agent_at_work_tells_its_tokens_with_its_progress(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "Implement it")
    Command.run("agent", "progress", "code-1", "60", "--tokens", "3200", directory=project.root).ok()
    (written,) = session_of(project)["agents"]
    assert (written["status"], written["progress"], written["context_tokens"]) == ("in_progress", 60, 3200)
    assert holdfast.progress_agent(project, "code-1", 60, tokens=3200).changed is False
    assert holdfast.progress_agent(project, "code-1", 60, tokens=3300).agent.tokens == 3300
    assert holdfast.progress_agent(project, "code-1", 70).agent.tokens == 3300
    with pytest.raises(WrongUsage, match="number of tokens"):
        holdfast.progress_agent(project, "code-1", 70, tokens=-1)


@pytest.mark.defect("`agent progress ID --tokens N` asked for a percentage")
def test_an_agent_at_work_tells_its_tokens_alone(project: Workspace) -> None:
    orchestrate(project)
    holdfast.start_agent(project, "code", "Implement it")
    holdfast.progress_agent(project, "code-1", 60)
    Command.run("agent", "progress", "code-1", "--tokens", "3200", directory=project.root).ok()
    (written,) = session_of(project)["agents"]
    assert (written["progress"], written["context_tokens"]) == (60, 3200)
    assert holdfast.progress_agent(project, "code-1", tokens=3200).changed is False
    with pytest.raises(WrongUsage, match="Give the agent"):
        holdfast.progress_agent(project, "code-1")
