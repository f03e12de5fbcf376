"""The agents whose hooks we understand, and the identification of the client that made a call.

Clients run each other's hooks, so the name on the command line is only a claim. The payload decides: its fields, the
name of its transcript, then the variables that a client sets for its hooks. Variables are inherited by a client that
another one starts, so they count only where the payload names nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.agents import generic
from holdfast.agents.claude import events
from holdfast.agents.protocol import Agent
from holdfast.core.model import Body
from holdfast.project.inbox import Call

AGENTS: dict[str, Agent] = {"claude": events}
VARIABLES = {"COPILOT_CLI": "copilot", "GEMINI_SESSION_ID": "gemini", "CURSOR_VERSION": "cursor"}


def identify(call: Call) -> None:
    """Correct the agent and the event of a call by its payload; only Claude Code tells its process in a variable."""
    payload = call.payload if isinstance(call.payload, dict) else {}
    call.agent = caller(call)
    call.event = _text(payload, "hook_event_name") or _text(payload, "hookName") or call.event
    if call.agent != "claude":
        call.process = call.parent or call.process


def caller(call: Call) -> str:
    """The agent that made a call. A name that no client here has is never contradicted."""
    if call.agent not in CLIENTS:
        return call.agent
    payload = call.payload if isinstance(call.payload, dict) else {}
    if found := next((name for name, is_from in SIGNS if is_from(payload)), None):
        return found
    if call.agent != "claude":
        return call.agent
    return next((name for mark, name in VARIABLES.items() if mark in call.environment), call.agent)


def find_agent(name: str) -> Agent:
    """The adapter of that name; an agent that nobody knows yet is kept plainly."""
    return AGENTS.get(name, generic)


def _is_kimi(payload: Body) -> bool:
    return _text(payload, "client_type").startswith("kimi")


def _is_cursor(payload: Body) -> bool:
    return "cursor_version" in payload


def _is_copilot(payload: Body) -> bool:
    """Copilot's own form, or its variant of Claude Code's: with a time, and mostly without a transcript."""
    if _file_name(payload):
        return _file_name(payload) == "events.jsonl" and "/session-state/" in _text(payload, "transcript_path")
    return "timestamp" in payload and any(key in payload for key in ("sessionId", "hook_event_name"))


def _is_opencode(payload: Body) -> bool:
    return "sessionID" in payload


def _is_codex(payload: Body) -> bool:
    """A rollout as its transcript, or none: then a turn's number, or the empty field of an unrecorded conversation."""
    if _file_name(payload):
        return _file_name(payload).startswith("rollout-")
    return any(key in payload for key in ("turn_id", "turn-id")) or payload.get("transcript_path", "") is None


def _is_gemini(payload: Body) -> bool:
    return _folder(payload) == "chats" and _file_name(payload).startswith("session-")


def _is_qwen(payload: Body) -> bool:
    return _folder(payload) == "chats" and _is_named_by_session(payload)


def _is_claude(payload: Body) -> bool:
    return "/projects/" in _text(payload, "transcript_path") and _is_named_by_session(payload)


def _is_named_by_session(payload: Body) -> bool:
    return _file_name(payload) == f"{_text(payload, 'session_id')}.jsonl"


def _file_name(payload: Body) -> str:
    return _text(payload, "transcript_path").rpartition("/")[2]


def _folder(payload: Body) -> str:
    return _text(payload, "transcript_path").rpartition("/")[0].rpartition("/")[2]


def _text(payload: Body, key: str) -> str:
    value: Any = payload.get(key)
    return value if isinstance(value, str) else ""


# In this order: Kimi's turns have a number too, and Qwen's transcripts lie below a directory `projects`, like Claude's.
SIGNS: list[tuple[str, Callable[[Body], bool]]] = [
    ("kimi", _is_kimi),
    ("cursor", _is_cursor),
    ("copilot", _is_copilot),
    ("opencode", _is_opencode),
    ("codex", _is_codex),
    ("gemini", _is_gemini),
    ("qwen", _is_qwen),
    ("claude", _is_claude),
]
CLIENTS = frozenset(name for name, _ in SIGNS)
