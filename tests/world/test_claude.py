"""What Claude Code's calls mean, told by calls that the real client made."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast import agents
from holdfast.agents import claude
from holdfast.agents.protocol import Reading
from holdfast.intake import Call

PAYLOADS = Path(__file__).parent.parent / "payloads" / "claude"


def a_call(recorded: str, **changes: Any) -> Call:
    """A recorded call, with some of its payload changed."""
    record = json.loads((PAYLOADS / f"{recorded}.json").read_bytes())
    return Call(
        name="00000000000000000001-abcdef01-1-00000000",
        agent="claude",
        event=record["event"],
        time=datetime(2026, 1, 1, tzinfo=UTC),
        boot="abcdef01",
        monotonic=1,
        directory=record["payload"]["cwd"],
        environment={name: str(value) for name, value in record["env"].items()},
        process=None,
        payload={**record["payload"], **changes},
    )


def read(recorded: str, **changes: Any) -> Reading:
    return claude.read_call(a_call(recorded, **changes))


MEANINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("PreToolUse.Bash", "action.begun", {"tool": "Bash", "files": []}),
    ("PreToolUse.Write", "action.begun", {"tool": "Write"}),
    ("PostToolUse.Edit", "action.taken", {"text": "Edit: /home/dev/src/proj3/watched.txt", "line": 1}),
    ("PostToolBatch", "action.taken", {"text": "Write: hello.txt", "files": [], "failed": True}),
    ("PostToolUseFailure.Bash", "action.taken", {"text": "Bash: false", "error": "Exit code 1", "failed": True}),
    ("Stop", "turn.ended", {"text": "all done"}),
    ("Stop.background", "turn.ended", {"text": "main done", "waiting": ["look"]}),
    ("SubagentStart", "subagent.started", {"type": "general-purpose", "key": "aada3e54da4425081"}),
    ("SubagentStop", "subagent.ended", {"type": "general-purpose", "text": "sub done"}),
    ("SubagentStop.compaction", "call.kept", {"event": "SubagentStop"}),
    ("UserPromptSubmit.task-notification", "subagent.told", {"text": 'Agent "look" finished', "result": "sub done"}),
    ("TaskCreated", "task.added", {"text": "build it"}),
    ("TaskCompleted", "task.done", {"key": "e0bf656e-f071-4bfd-ac5b-19f5b3edd937/1"}),
    ("PreCompact.manual", "context.compacting", {"trigger": "manual"}),
    ("PostCompact.auto", "context.compacted", {"trigger": "auto"}),
    ("Notification.permission_prompt", "call.kept", {"event": "Notification"}),
    ("PermissionRequest", "call.kept", {"event": "PermissionRequest"}),
]


@pytest.mark.parametrize(("recorded", "kind", "body"), MEANINGS)
def test_a_recorded_call_means(recorded: str, kind: str, body: dict[str, Any]) -> None:
    (draft,) = read(recorded).drafts
    assert draft.kind == kind
    assert {name: draft.body.get(name) for name in body} == body


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_a_start_says_how_the_conversation_begins(source: str) -> None:
    found = read(f"SessionStart.{source}")
    assert found.begins == source
    assert found.conversation == a_call(f"SessionStart.{source}").payload["session_id"]


@pytest.mark.parametrize("reason", ["clear", "other", "prompt_input_exit", "resume"])
def test_an_end_says_why(reason: str) -> None:
    assert read(f"SessionEnd.{reason}").ends == reason


def test_the_first_prompt_is_a_goal_and_what_the_client_says_itself_is_none() -> None:
    assert read("UserPromptSubmit", prompt="  Fix the login bug ").goal == "Fix the login bug"
    assert read("UserPromptSubmit", prompt=" ").goal is None
    assert read("UserPromptSubmit.task-notification").goal is None


def test_each_of_several_tools_is_an_event_of_its_own() -> None:
    done = [{"tool_name": "Bash", "tool_use_id": str(number), "tool_input": {"command": "x"}} for number in range(3)]
    drafts = read("PostToolBatch", tool_calls=done).drafts
    assert [draft.body["key"] for draft in drafts] == ["0", "1", "2"]
    assert len({draft.id for draft in drafts}) == 3


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"environment": {"COPILOT_CLI": "1"}, "payload": {"session_id": "s"}}, "copilot"),
        ({"environment": {"GEMINI_SESSION_ID": "x"}, "payload": None}, "gemini"),
        ({"environment": {"CURSOR_VERSION": "1"}, "payload": {}}, "cursor"),
        ({"environment": {"COPILOT_CLI": "1"}}, "claude"),  # inherited: the payload is Claude Code's own
        ({"payload": {"turn_id": "t", "session_id": "s"}}, "codex"),
        ({"payload": {"hook_event_name": "SessionStart", "session_id": "s", "transcript_path": None}}, "codex"),
        ({"payload": {"hook_event_name": "Stop", "session_id": "s", "cursor_version": "2"}}, "cursor"),
        ({"agent": "robot"}, "robot"),
        ({}, "claude"),
    ],
)
def test_another_client_that_runs_our_hooks_is_not_taken_for_claude(changes: dict[str, Any], name: str) -> None:
    call = a_call("Stop")
    for field, value in changes.items():
        setattr(call, field, value)
    assert agents.caller(call) == name
