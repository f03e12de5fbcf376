"""What Claude Code's calls mean, told by calls that the real client made."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents import registry
from holdfast.agents.claude import events
from holdfast.agents.protocol import Reading
from holdfast.project.inbox import Call

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
    return events.read_call(a_call(recorded, **changes))


MEANINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("PreToolUse.Bash", "action.begun", {"tool": "Bash", "files": []}),
    ("PreToolUse.Write", "action.begun", {"tool": "Write"}),
    ("PostToolUse.Edit", "action.taken", {"text": "Edit: /home/dev/src/proj3/watched.txt", "line": 1}),
    ("PostToolBatch", "action.taken", {"text": "Write: hello.txt", "files": [], "failed": True}),
    ("PostToolUseFailure.Bash", "action.taken", {"text": "Bash: false", "error": "Exit code 1", "failed": True}),
    ("PreToolUse.TaskCreate", "action.begun", {"text": "TaskCreate: build it"}),
    ("PostToolUse.TaskCreate", "action.taken", {"text": "TaskCreate: build it"}),
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


@pytest.mark.defect("a chat command was logged together with those before it, which the client had put back")
@pytest.mark.parametrize(
    ("prompt", "text"), [("*pause*continue", "*continue"), ("*sessions\n*resume:2 live", "*resume:2 live")]
)
def test_of_several_chat_commands_in_a_row_the_log_has_the_one_that_is_carried_out(prompt: str, text: str) -> None:
    (draft,) = read("UserPromptSubmit", prompt=prompt).drafts
    assert (draft.kind, draft.body) == ("command.typed", {"text": text})


# How the answers of the client begin, version 2.1.325, to calls of tools that it did not carry out.
REFUSALS = [
    ("<tool_use_error>Error: No such tool available: Bash. Bash is disabled for this session.</tool_use_error>",
     "Error: No such tool available: Bash. Bash is disabled for this session."),
    ("<tool_use_error>InputValidationError: Bash failed due to the following issues:\nThe", None),
    ("<tool_use_error>String to replace not found in file.\nString: zzz</tool_use_error>\n\nmore",
     "String to replace not found in file.\nString: zzz"),
    ("PreToolUse:Bash hook error: [exit 2]: not on Mondays\n", "PreToolUse:Bash hook error: [exit 2]: not on Mondays"),
    ("Permission to use Bash with command echo a\necho b has been denied.", None),
    ("Permission to read /etc/shadow has been denied.", None),
    ("Permission to use WebFetch has been denied because Claude Code is running in don't ask mode.", None),
    ("Claude requested permissions to use WebFetch, but you haven't granted it yet.", None),
    ("The user doesn't want to proceed with this tool use. The tool use was rejected.", None),
    ("The user doesn't want to take this action right now.", None),
    ("[Request interrupted by user for tool use]", None),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "error"), REFUSALS)
def test_a_tool_call_that_the_client_refused_was_not_carried_out(answer: str, error: str | None) -> None:
    call = {"tool_name": "Write", "tool_use_id": "1", "tool_input": {"file_path": "/home/dev/src/proj1/a.txt"}}
    batch = read("PostToolBatch", tool_calls=[{**call, "tool_response": answer}])
    failure = read("PostToolUseFailure.Bash", **call, error=answer)
    wanted = error or answer.removeprefix("<tool_use_error>")
    for reading in (batch, failure):
        (draft,) = reading.drafts
        assert (draft.body["refused"], draft.body["files"], draft.body["error"]) == (True, [], wanted)


@pytest.mark.parametrize(
    "answer",
    [
        "Permission to dev/tools.git denied to dev.",
        "it said <tool_use_error>x</tool_use_error>",
        "(Bash completed with no output)",
        "",
    ],
)
def test_output_that_only_looks_like_a_refusal_is_an_outcome(answer: str) -> None:
    call = {"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "x"}, "tool_response": answer}
    (draft,) = read("PostToolBatch", tool_calls=[call]).drafts
    assert ("refused" in draft.body, draft.body["outcome"]) == (False, answer)


def write_transcript(path: Path, *, is_error: bool | None, tool_use: str = "t1", after: int = 0) -> str:
    """A transcript with the result of one tool call, and as many other lines after it."""
    mark = {} if is_error is None else {"is_error": is_error}
    result = {"type": "tool_result", "tool_use_id": tool_use, "content": "…", **mark}
    asked = {"type": "tool_use", "id": tool_use, "name": "Bash", "input": {}}
    lines = [
        {"type": "assistant", "message": {"content": [asked]}},
        {"type": "user", "message": {"content": [result]}},
        *({"type": "user", "message": {"content": "x" * 1000}} for _ in range(after)),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


PRINTED = [answer for answer, _ in REFUSALS]


def bash_that_printed(answer: str, key: str = "t1") -> dict[str, Any]:
    call = {"tool_name": "Bash", "tool_use_id": key, "tool_input": {"command": "cat log"}, "tool_response": answer}
    return {"tool_calls": [call]}


@pytest.mark.defect(
    "A command that succeeded was logged as refused where it printed what a refusal of the client says."
)
@pytest.mark.parametrize("answer", PRINTED)
def test_a_command_that_prints_a_refusal_was_carried_out(answer: str, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for is_error, refused in ((False, False), (None, False), (True, True)):
        transcript = write_transcript(path, is_error=is_error, after=200)
        (draft,) = read("PostToolBatch", **bash_that_printed(answer), transcript_path=transcript).drafts
        assert draft.body.get("refused", False) is refused
        assert ("error" in draft.body, draft.body.get("outcome")) == (refused, None if refused else answer)


@pytest.mark.defect(
    "A command that printed a refusal was logged as refused if its call was read before the client wrote the transcript"
)
@pytest.mark.parametrize("is_error", [False, True])
def test_a_call_that_was_made_just_now_waits_for_its_result(is_error: bool, tmp_path: Path) -> None:
    path, (answer, _) = tmp_path / "c.jsonl", REFUSALS[0]
    write_transcript(path, is_error=False, tool_use="other")
    call = a_call("PostToolBatch", **bash_that_printed(answer), transcript_path=str(path))
    call.time = datetime.now(UTC)
    client = threading.Timer(0.1, lambda: write_transcript(path, is_error=is_error))
    client.start()
    (draft,) = events.read_call(call).drafts
    client.join()
    assert draft.body.get("refused", False) is is_error


def test_calls_that_were_made_long_ago_or_in_the_future_wait_for_nothing(tmp_path: Path) -> None:
    path, (answer, _) = tmp_path / "c.jsonl", REFUSALS[0]
    write_transcript(path, is_error=False, tool_use="other")
    begun = time.monotonic()
    for age in (timedelta(days=1), -timedelta(days=1)):
        call = a_call("PostToolBatch", **bash_that_printed(answer), transcript_path=str(path))
        call.time = datetime.now(UTC) - age
        for _ in range(20):
            assert events.read_call(call).drafts[0].body["refused"] is True
    assert time.monotonic() - begun < 5


def test_a_subagent_has_a_record_of_its_own(tmp_path: Path) -> None:
    (answer, _), path = REFUSALS[0], tmp_path / "c.jsonl"
    write_transcript(path, is_error=True)
    write_transcript(tmp_path / "c" / "subagents" / "agent-a1.jsonl", is_error=False)
    for agent, refused in (("a1", False), ("a2", True), ("../a1", True), ("", True)):
        call = bash_that_printed(answer)
        (draft,) = read("PostToolBatch", **call, transcript_path=str(path), agent_id=agent).drafts
        assert draft.body.get("refused", False) is refused


def test_without_a_record_of_the_result_the_text_decides(tmp_path: Path) -> None:
    (answer, _), path = REFUSALS[0], tmp_path / "c.jsonl"
    for transcript in (None, "", "c.jsonl", str(path), write_transcript(path, is_error=False, tool_use="other")):
        (draft,) = read("PostToolBatch", **bash_that_printed(answer), transcript_path=transcript).drafts
        assert draft.body["refused"] is True


@pytest.mark.parametrize("answer", PRINTED)
def test_the_call_after_a_tool_that_was_carried_out_is_no_refusal(answer: str) -> None:
    text = read("PostToolUse.Bash", tool_response=answer)
    structured = read("PostToolUse.Bash", tool_response={"stdout": answer, "stderr": "", "interrupted": False})
    assert ["refused" in draft.body for reading in (text, structured) for draft in reading.drafts] == [False, False]


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
    assert registry.caller(call) == name


def test_the_answer_of_a_turn_is_kept_long_and_what_subagents_said_short() -> None:
    long = "x" * 200_000
    kept = {name: read(name, last_assistant_message=long).drafts[0].body["text"] for name in ("Stop", "SubagentStop")}
    assert {name: len(text) for name, text in kept.items()} == {"Stop": 100_000, "SubagentStop": 4_000}


def test_tools_that_change_nothing_are_marked() -> None:
    marked = {name: read(name).drafts[0].body.get("reads") for name in ("PreToolUse.Read", "PreToolUse.Edit")}
    assert marked == {"PreToolUse.Read": True, "PreToolUse.Edit": None}
