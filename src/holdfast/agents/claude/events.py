"""Claude Code: what its hooks tell.

Everything may come twice, late, in another order, or not at all. So an action is known by the client's own number for
it, and nothing here relies on an end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.agents.protocol import Reading
from holdfast.core import chat_commands
from holdfast.core.model import Body, Draft
from holdfast.core.text import one_line, path_text
from holdfast.project.inbox import Call

GOAL, REPLY, OUTCOME, INPUT = 2_000, 4_000, 1_000, 4_000  # characters that are kept
OURS = "/holdfast:"  # a slash command of our plugin
NOTIFICATION = "<task-notification>"
ERROR = re.compile(r"<tool_use_error>(.*?)(?:</tool_use_error>.*)?", re.DOTALL)
REFUSED = re.compile(  # how the answer to a tool call begins that the client did not carry out
    r"<tool_use_error>|PreToolUse:\S+ hook error: |Claude requested permissions |The user doesn't want to |"
    r"Permission (?:to \w+|for this) .*has been denied|\[Request interrupted by user|\[Tool call skipped: ",
    re.DOTALL,
)
WRITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
TELLING = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "subject",
    "description",
    "prompt",
    "skill",
)


def read_call(call: Call) -> Reading:
    payload = call.payload if isinstance(call.payload, dict) else {}
    event = _text(payload, "hook_event_name") or call.event
    told = tell(event, payload)
    drafts = [
        Draft(kind, body, id=call.event_id(number), time=call.time, agent=call.agent)
        for number, (kind, body) in enumerate(told or [("call.kept", _kept(call, event))])
    ]
    return Reading(
        drafts,
        conversation=_text(payload, "session_id") or call.environment.get("CLAUDE_CODE_SESSION_ID"),
        transcript=_text(payload, "transcript_path") or None,
        begins=(_text(payload, "source") or "startup") if event == "SessionStart" else None,
        ends=(_text(payload, "reason") or "other") if event == "SessionEnd" else None,
        goal=goal_of(payload) if event == "UserPromptSubmit" else None,
    )


def tell(event: str, payload: Body) -> list[tuple[str, Body]]:
    """What a call says: kinds of events, with their bodies. A transcript can be told in the same words."""
    reader = READERS.get(event)
    return list(reader(payload)) if reader else []


def command(conversation: str | None) -> list[str]:
    return ["claude", "--resume", conversation] if conversation else ["claude"]


Told = Iterator[tuple[str, Body]]


def _prompt(payload: Body) -> Told:
    text = _text(payload, "prompt")
    if text.startswith(NOTIFICATION):
        yield "subagent.told", {"text": _between(text, "summary"), "result": _between(text, "result")[:REPLY]}
    elif not text.strip():
        return
    elif chat_commands.parse(text):
        yield "command.typed", {"text": text}
    else:
        yield "prompt.given", {"text": text, "key": _text(payload, "prompt_id")}


def goal_of(payload: Body) -> str | None:
    text = _text(payload, "prompt").strip()
    is_goal = text and not text.startswith((NOTIFICATION, OURS)) and not chat_commands.parse(text)
    return text[:GOAL] if is_goal else None


def _begun(payload: Body) -> Told:
    yield "action.begun", _action(payload, payload)


def _failed(payload: Body) -> Told:
    error, body = _text(payload, "error"), _action(payload, payload)
    yield "action.taken", _refused(body, error) or {**body, "error": error[:OUTCOME], "failed": True}


def _taken(payload: Body) -> Told:
    calls = payload.get("tool_calls")
    for done in calls if isinstance(calls, list) else [payload]:
        if isinstance(done, dict):
            response = done.get("tool_response")
            outcome = response[:OUTCOME] if isinstance(response, str) else ""
            body = _action(payload, done)
            yield "action.taken", _refused(body, outcome) or {**body, **_place(response), "outcome": outcome}


def _refused(body: Body, answer: str) -> Body | None:
    """An action that the client did not carry out, so it wrote no file; None if it did."""
    if not REFUSED.match(answer):
        return None
    wrapped = ERROR.fullmatch(answer)
    error = wrapped[1] if wrapped else answer
    return {**body, "files": [], "error": error[:OUTCOME].strip(), "failed": True, "refused": True}


def _action(payload: Body, done: Body) -> Body:
    """What a tool was asked to do: in one line, with the files that it writes."""
    tool, asked = _text(done, "tool_name"), done.get("tool_input")
    given = asked if isinstance(asked, dict) else {}
    about = next((found for key in TELLING if (found := _text(given, key))), "")
    file = _text(given, "file_path") or _text(given, "notebook_path")
    body: Body = {
        "text": one_line(f"{tool}: {_from_here(payload, about)}" if about else tool or "a tool", 300),
        "tool": tool,
        "key": _text(done, "tool_use_id"),
        "files": [_from_here(payload, file)] if file and tool in WRITING else [],
    }
    if subagent := _text(payload, "agent_id"):
        body["subagent"] = subagent
    return body


def _place(response: Any) -> Body:
    """The line that an edit begins at, where the client shows the edit."""
    patch = response.get("structuredPatch") if isinstance(response, dict) else None
    first = patch[0] if isinstance(patch, list) and patch and isinstance(patch[0], dict) else {}
    start, lines = first.get("newStart"), first.get("lines")
    if not isinstance(start, int) or isinstance(start, bool) or not isinstance(lines, list):
        return {}
    same = next((place for place, line in enumerate(lines) if not str(line).startswith(" ")), 0)
    return {"line": start + same}


def _from_here(payload: Body, path: str) -> str:
    """A path as one would type it in the project; what is no path in it stays."""
    root = _text(payload, "cwd")
    if not root or not os.path.isabs(path):
        return path
    inside = os.path.relpath(path, root)
    return path_text(path if inside.startswith("..") else inside)


def _turn(payload: Body) -> Told:
    body: Body = {"text": _text(payload, "last_assistant_message")[:REPLY]}
    waiting = payload.get("background_tasks")
    if isinstance(waiting, list) and waiting:
        body["waiting"] = [_text(task, "description") for task in waiting if isinstance(task, dict)]
    yield "turn.ended", body


def _broken(payload: Body) -> Told:
    yield (
        "error.met",
        {"text": one_line(f"{_text(payload, 'error')}: {_text(payload, 'error_details')}".strip(": "), 500)},
    )


def _subagent_started(payload: Body) -> Told:
    yield "subagent.started", {"key": _text(payload, "agent_id"), "type": _text(payload, "agent_type")}


def _subagent_ended(payload: Body) -> Told:
    if _text(payload, "agent_type"):  # the one without a type is the client's own summariser
        text = _text(payload, "last_assistant_message")[:REPLY]
        yield "subagent.ended", {"key": _text(payload, "agent_id"), "type": _text(payload, "agent_type"), "text": text}


def _task_created(payload: Body) -> Told:
    yield "task.added", {"text": _text(payload, "task_subject"), "key": _task_key(payload)}


def _task_completed(payload: Body) -> Told:
    yield "task.done", {"key": _task_key(payload)}


def _task_key(payload: Body) -> str:
    return f"{_text(payload, 'session_id')}/{_text(payload, 'task_id')}"


def _compacting(payload: Body) -> Told:
    yield "context.compacting", {"trigger": _text(payload, "trigger")}


def _compacted(payload: Body) -> Told:
    summary = _between(_text(payload, "compact_summary"), "summary") or _text(payload, "compact_summary")
    yield "context.compacted", {"trigger": _text(payload, "trigger"), "summary": summary.strip()[:REPLY]}


def _kept(call: Call, event: str) -> Body:
    return {"agent": call.agent, "event": event, "call": call.payload}


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]


def _text(payload: Any, key: str) -> str:
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


READERS: dict[str, Callable[[Body], Told]] = {
    "UserPromptSubmit": _prompt,
    "PreToolUse": _begun,
    "PostToolUse": _taken,
    "PostToolBatch": _taken,
    "PostToolUseFailure": _failed,
    "Stop": _turn,
    "StopFailure": _broken,
    "SubagentStart": _subagent_started,
    "SubagentStop": _subagent_ended,
    "TaskCreated": _task_created,
    "TaskCompleted": _task_completed,
    "PreCompact": _compacting,
    "PostCompact": _compacted,
}
