"""A session of the orchestrator in the real client: its subagents are agents of the run, its compactions are noted."""

from __future__ import annotations

import json
import sys

import pytest

from holdfast.layouts.orchestrator import HISTORY, SESSION
from tests.agents.conftest import Project
from tests.agents.test_claude import bash
from tests.orchestrator_files import File


@pytest.fixture
def orchestra(project: Project) -> Project:
    """A project with a session of the orchestrator that has just been started."""
    project.holdfast("start", "Add retries", "--layout", "orchestrator")
    return project


def session_of(project: Project) -> File:
    found: File = json.loads((project.directory / SESSION).read_bytes())
    return found


def sent(type: str, found: str) -> str:
    asked = {
        "description": "look around",
        "prompt": "look around " + bash("echo inner").replace("@@say done", f"@@say {found}"),
        "subagent_type": type,
        "run_in_background": False,
    }
    return f"@@tool Agent {json.dumps(asked)}"


def test_subagents_are_started_and_completed_in_the_session_file(orchestra: Project) -> None:
    orchestra.claude(f"begin here {sent('general-purpose', 'found the inner one')} @@say done")
    orchestra.holdfast("status")
    (agent,) = session_of(orchestra)["agents"]
    assert (agent["id"], agent["type"], agent["status"], agent["result_summary"]) == (
        "general-purpose-1",
        "general-purpose",
        "complete",
        "found the inner one",
    )
    assert agent["started"] <= agent["completed"]
    (run,) = orchestra.runs()
    kinds = [event.kind for event in orchestra.log(run.id)]
    assert (kinds.count("agent.started"), kinds.count("agent.completed")) == (1, 1)
    assert session_of(orchestra)["status"] == "in_progress"


def test_an_agent_at_work_is_in_the_file_before_it_has_ended(orchestra: Project) -> None:
    look = f"{sys.executable} -m holdfast agent list"
    asked = {
        "description": "look",
        "prompt": "look " + bash(f"{look} > seen.txt"),
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    orchestra.claude(f"begin here @@tool Agent {json.dumps(asked)} @@say done")
    seen = (orchestra.directory / "seen.txt").read_text().splitlines()
    assert seen[1].split()[:2] == ["general-purpose-1", "in_progress"]


def test_a_compaction_sets_the_last_compression_in_the_file(orchestra: Project) -> None:
    first = orchestra.claude("begin here @@say begun")
    orchestra.holdfast("status")
    assert session_of(orchestra)["context_usage"]["last_compression"] is None
    orchestra.claude("/compact", "--resume", first.session)
    orchestra.holdfast("status")
    file = session_of(orchestra)
    assert file["created"] <= file["context_usage"]["last_compression"] <= file["updated"]
    (run,) = orchestra.runs()
    assert run.compactions == 1
    assert f"**Session ID**: {run.id}" in orchestra.holdfast("continue").out


@pytest.mark.defect(
    "a run that the model started inside the client was not the one that its conversation was booked on"
)
def test_what_follows_a_start_inside_the_client_is_booked_on_the_new_session(orchestra: Project) -> None:
    (old,) = orchestra.runs()
    start = bash(f"{sys.executable} -m holdfast start 'Second goal' --layout orchestrator").replace("@@say done", "")
    orchestra.claude(f"begin anew {start} {sent('general-purpose', 'found it')} @@say done")
    orchestra.holdfast("status")
    new = session_of(orchestra)
    assert (new["goal"], [agent["id"] for agent in new["agents"]]) == ("Second goal", ["general-purpose-1"])
    newest = next(session for session in orchestra.sessions() if session.agent_session)
    assert newest.run == new["session_id"]
    archived = json.loads((orchestra.directory / HISTORY / f"{old.id}.json").read_bytes())
    assert (archived["agents"], archived["status"]) == ([], "in_progress")
