"""Conversion of Claude Code's hook payloads to events.

Calls may arrive twice, late, out of order, or not at all. So an action is identified by the client's own id for it, and
no reader relies on an end event.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.agents.claude import transcript
from holdfast.agents.claude.client import CONVERSATION, MOMENTS
from holdfast.agents.generic_client import text_of
from holdfast.agents.jsonl import ENDING
from holdfast.agents.protocol import Moment, Reading
from holdfast.core import chat_commands, ids
from holdfast.core.model import Beginning, Body, Draft, list_of, object_of
from holdfast.core.text import one_line, path_text
from holdfast.project.inbox import Call

GOAL, REPLY, OUTCOME = 2_000, 4_000, 1_000  # characters that are stored
ANSWER = 100_000  # of the agent's own words
WAITING = ("Stop", "PermissionRequest")  # events after which the client waits for a prompt or a permission
PERMISSION = "permission_prompt"  # type of the notification that a permission was not answered for some seconds
OURS = "/holdfast:"  # a slash command of our plugin
NOTIFICATION = "<task-notification>"
ERROR = re.compile(r"<tool_use_error>(.*?)(?:</tool_use_error>.*)?", re.DOTALL)
REFUSED = re.compile(  # prefixes of the result of a tool call that the client did not execute
    r"<tool_use_error>|PreToolUse:\S+ hook error: |Claude requested permissions |The user doesn't want to |"
    r"Permission (?:to \w+|for this) .*has been denied|\[Request interrupted by user|\[Tool call skipped: ",
    re.DOTALL,
)
WRITTEN, BETWEEN = timedelta(seconds=1), 0.05  # after a hook call: until the transcript is written, between two looks
WRITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
READING = ("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch")  # change nothing
TELLING = (  # inputs of tools: the first that a call has is its summary
    *("command", "file_path", "notebook_path", "pattern", "url", "query"),
    *("subject", "description", "prompt", "skill"),
)


def read_call(call: Call) -> Reading:
    payload = object_of(call.payload)
    event = text_of(payload, "hook_event_name") or call.event
    if event == "PostToolBatch":
        _await_outcomes(payload, call.time)
    told, kept = tell(event, payload), {"agent": call.agent, "event": event, "call": call.payload}
    drafts = [
        Draft(kind, body, id=call.event_id(number), time=call.time, agent=call.agent)
        for number, (kind, body) in enumerate(told or [("call.kept", kept)])
    ]
    is_start, is_prompt = event == "SessionStart", event == "UserPromptSubmit"
    return Reading(
        drafts,
        Moment(MOMENTS.get(event, Moment.OTHER)),
        conversation=text_of(payload, "session_id") or call.environment.get(CONVERSATION),
        transcript=text_of(payload, "transcript_path") or None,
        begins=Beginning(text_of(payload, "source")) if is_start else None,
        ends=(text_of(payload, "reason") or "other") if event == "SessionEnd" else None,
        goal=goal_of(payload) if is_prompt else None,
        prompt=text_of(payload, "prompt") if is_prompt else None,
        waits=event in WAITING or (event == "Notification" and text_of(payload, "notification_type") == PERMISSION),
    )


def tell(event: str, payload: Body) -> list[tuple[str, Body]]:
    """The events of a call, as pairs of kind and body. The import of transcripts uses it, too."""
    reader = READERS.get(event)
    return list(reader(payload)) if reader else []


Told = Iterator[tuple[str, Body]]


def _prompt(payload: Body) -> Told:
    text = text_of(payload, "prompt")
    if text.startswith(NOTIFICATION):
        yield "subagent.told", {"text": _between(text, "summary"), "result": _between(text, "result")[:REPLY]}
    elif not text.strip():
        return
    elif order := chat_commands.parse(text):
        yield "command.typed", {"text": chat_commands.written(order)}  # the client may have put earlier ones before it
    else:
        yield "prompt.given", {"text": text, "key": text_of(payload, "prompt_id")}


def goal_of(payload: Body) -> str | None:
    text = text_of(payload, "prompt").strip()
    is_goal = text and not text.startswith((NOTIFICATION, OURS)) and not chat_commands.parse(text)
    return text[:GOAL] if is_goal else None


def _failed(payload: Body) -> Told:
    error, body = text_of(payload, "error"), _action(payload, payload)
    yield "action.taken", _refused(body, error) or {**body, "error": error[:OUTCOME], "failed": True}


def _done(payload: Body, done: Body) -> Body:
    response = done.get("tool_response")
    outcome = response[:OUTCOME] if isinstance(response, str) else ""
    return {**_action(payload, done), **_place(response), "outcome": outcome}


def _batch(payload: Body) -> Told:
    """A batch of tool calls, executed, refused or failed: for each it has only the text that the model received."""
    for done in _calls(payload):
        body = _done(payload, done)
        refused = _refused(_action(payload, done), body["outcome"])
        yield "action.taken", refused if refused and not _outcome(payload, done) else body


def _await_outcomes(payload: Body, told: datetime) -> None:
    """Wait until the transcript has the results that resemble refusals: the client writes it after it called the hook.

    Only for a call that was made just now, so that all calls of an inbox together wait no longer than one.
    """
    for done in _calls(payload):
        if REFUSED.match(_done(payload, done)["outcome"]) and os.path.exists(text_of(payload, "transcript_path")):
            while _outcome(payload, done) is None and timedelta() <= datetime.now(UTC) - told < WRITTEN:
                time.sleep(BETWEEN)


def _calls(payload: Body) -> Iterator[Body]:
    calls = payload.get("tool_calls")
    return (done for done in (calls if isinstance(calls, list) else [payload]) if isinstance(done, dict))


def _outcome(payload: Body, done: Body) -> bool | None:
    """True if the transcript shows no error for a tool call, so that its output only resembles a refusal."""
    path, subagent = text_of(payload, "transcript_path"), text_of(payload, "agent_id")
    if not os.path.isabs(path) or not path.endswith(ENDING) or (subagent and not ids.is_safe(subagent)):
        return None
    return transcript.find_outcome(Path(path), subagent, text_of(done, "tool_use_id"))


def _refused(body: Body, answer: str) -> Body | None:
    """The event body of a tool call that the client refused, which wrote no file; None if it was not refused."""
    if not REFUSED.match(answer):
        return None
    wrapped = ERROR.fullmatch(answer)
    error = wrapped[1] if wrapped else answer
    return {**body, "files": [], "error": error[:OUTCOME].strip(), "failed": True, "refused": True}


def _action(payload: Body, done: Body) -> Body:
    """The event body of a tool call: a summary in one line, with the files that it writes."""
    tool, given = text_of(done, "tool_name"), object_of(done.get("tool_input"))
    about = next((found for key in TELLING if (found := text_of(given, key))), "")
    file = text_of(given, "file_path") or text_of(given, "notebook_path")
    body: Body = {
        "text": one_line(f"{tool}: {_from_here(payload, about)}" if about else tool or "a tool", 300),
        "tool": tool,
        "key": text_of(done, "tool_use_id"),
        "files": [_from_here(payload, file)] if file and tool in WRITING else [],
    }
    if tool in READING:
        body["reads"] = True
    if subagent := text_of(payload, "agent_id"):
        body["subagent"] = subagent
    return body


def _place(response: Any) -> Body:
    """The first changed line of an edit, if the payload has its diff."""
    patch = list_of(object_of(response).get("structuredPatch"))
    first = object_of(patch[0]) if patch else {}
    start, lines = first.get("newStart"), first.get("lines")
    if not isinstance(start, int) or isinstance(start, bool) or not isinstance(lines, list):
        return {}
    same = next((place for place, line in enumerate(lines) if not str(line).startswith(" ")), 0)
    return {"line": start + same}


def _from_here(payload: Body, path: str) -> str:
    """A path relative to the working directory; a path outside of it, or another text, unchanged."""
    root = text_of(payload, "cwd")
    if not root or not os.path.isabs(path):
        return path
    inside = os.path.relpath(path, root)
    return path_text(path if inside.startswith("..") else inside)


def _turn(payload: Body) -> Told:
    body: Body = {"text": text_of(payload, "last_assistant_message")[:ANSWER]}
    if waiting := list_of(payload.get("background_tasks")):
        body["waiting"] = [text_of(task, "description") for task in waiting if isinstance(task, dict)]
    yield "turn.ended", body


def _broken(payload: Body) -> Told:
    text = f"{text_of(payload, 'error')}: {text_of(payload, 'error_details')}".strip(": ")
    yield "error.met", {"text": one_line(text, 500)}


def _subagent(payload: Body) -> Body:
    return {"key": text_of(payload, "agent_id"), "type": text_of(payload, "agent_type")}


def _subagent_ended(payload: Body) -> Told:
    if text_of(payload, "agent_type"):  # the subagent without a type is the client's own summariser
        yield "subagent.ended", {**_subagent(payload), "text": text_of(payload, "last_assistant_message")[:REPLY]}


def _task_key(payload: Body) -> str:
    return f"{text_of(payload, 'session_id')}/{text_of(payload, 'task_id')}"


def _compacted(payload: Body) -> Told:
    summary = _between(text_of(payload, "compact_summary"), "summary") or text_of(payload, "compact_summary")
    yield "context.compacted", {"trigger": text_of(payload, "trigger"), "summary": summary.strip()[:REPLY]}


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]


READERS: dict[str, Callable[[Body], Iterable[tuple[str, Body]]]] = {
    "UserPromptSubmit": _prompt,
    "PreToolUse": lambda payload: [("action.begun", _action(payload, payload))],
    "PostToolUse": lambda payload: [("action.taken", _done(payload, payload))],  # only for a call that was executed
    "PostToolBatch": _batch,
    "PostToolUseFailure": _failed,
    "Stop": _turn,
    "StopFailure": _broken,
    "SubagentStart": lambda payload: [("subagent.started", _subagent(payload))],
    "SubagentStop": _subagent_ended,
    "TaskCreated": lambda payload: [
        ("task.added", {"text": text_of(payload, "task_subject"), "key": _task_key(payload)}),
    ],
    "TaskCompleted": lambda payload: [("task.done", {"key": _task_key(payload)})],
    "PreCompact": lambda payload: [("context.compacting", {"trigger": text_of(payload, "trigger")})],
    "PostCompact": _compacted,
}
