"""What a client's hooks mean for a session of the orchestrator: subagents are agents, a compaction is noted."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from tests.orchestrator_project import agree, orchestrate, session_of
from tests.sessions import kinds_of
from tests.tools import hook


def call(project: Workspace, event: str, **payload: Any) -> None:
    """Call the hook as Claude Code does. By its clock, the real one, the run is long forgotten: so it is named."""
    with project.reading() as journal:
        run = journal.view.pointer(project.worktree) or ""
    known = {"session_id": "c1", "hook_event_name": event, "cwd": str(project.root)}
    data = json.dumps({**known, **payload}).encode()
    hook(project.root, "claude", event, data, CLAUDE_PID=str(os.getpid()), HOLDFAST_RUN=run)


@pytest.fixture
def begun(project: Workspace) -> Workspace:
    """A session of the orchestrator that the client has joined."""
    orchestrate(project)
    call(project, "SessionStart", source="startup")
    call(project, "UserPromptSubmit", prompt="begin")
    return project


def test_a_subagent_that_starts_and_stops_is_an_agent_of_the_session(begun: Workspace) -> None:
    call(begun, "SubagentStart", agent_id="a1", agent_type="code")
    call(begun, "SubagentStart", agent_id="a2", agent_type="Code Reviewer!")
    holdfast.status(begun)
    assert [(one["id"], one["status"]) for one in session_of(begun)["agents"]] == [
        ("code-1", "in_progress"),
        ("code-reviewer-1", "in_progress"),
    ]
    call(begun, "SubagentStop", agent_id="a1", agent_type="code", last_assistant_message="it is green")
    holdfast.status(begun)
    first, second = session_of(begun)["agents"]
    assert (first["status"], first["result_summary"], second["status"]) == ("complete", "it is green", "in_progress")
    agree(begun)


def test_a_subagent_that_is_told_of_twice_is_one_agent(begun: Workspace) -> None:
    for _ in range(2):
        call(begun, "SubagentStart", agent_id="a1", agent_type="code")
    for _ in range(2):
        call(begun, "SubagentStop", agent_id="a1", agent_type="code", last_assistant_message="done")
    kinds = kinds_of(begun)
    assert (kinds.count("agent.started"), kinds.count("agent.completed")) == (1, 1)
    agree(begun)


def test_a_subagent_that_nobody_saw_start_is_no_agent(begun: Workspace) -> None:
    call(begun, "SubagentStop", agent_id="a9", agent_type="code", last_assistant_message="done")
    assert [worker.id for worker in agree(begun).workers] == []


def test_ids_of_the_client_and_of_people_do_not_meet(begun: Workspace) -> None:
    assert holdfast.start_agent(begun, "code", "by hand").agent.id == "code-1"
    call(begun, "SubagentStart", agent_id="a1", agent_type="code")
    assert holdfast.start_agent(begun, "code", "by hand").agent.id == "code-3"
    call(begun, "SubagentStop", agent_id="a1", agent_type="code", last_assistant_message="done")
    assert [worker.status for worker in agree(begun).workers] == ["in_progress", "complete", "in_progress"]


def test_a_compaction_that_begins_is_the_last_compression(begun: Workspace) -> None:
    assert session_of(begun)["context_usage"]["last_compression"] is None
    call(begun, "PreCompact", trigger="auto")
    holdfast.status(begun)
    assert session_of(begun)["context_usage"]["last_compression"] is not None
    agree(begun)


def test_compaction_end_and_save_are_noted_once_each(begun: Workspace) -> None:
    call(begun, "PreCompact", trigger="manual")
    holdfast.save(begun)
    call(begun, "PostCompact", trigger="manual", compact_summary="so far")
    call(begun, "SessionEnd", reason="other")
    run = agree(begun)
    assert run.compactions == 1
    kinds = kinds_of(begun)
    assert (kinds.count("context.compacting"), kinds.count("context.compacted")) == (1, 1)
