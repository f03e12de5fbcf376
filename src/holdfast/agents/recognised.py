"""Clients that are only recognised, as they run the hooks of another one. A hook that names one of them loads this."""

import sys

from holdfast.agents.generic_client import is_named_by_session, text_of, transcript

DEFAULTS = sys.modules["holdfast.agents.generic_client"].__dict__  # a hook loads modules without their packages


class Client:
    """A description for hooks: the defaults, and what differs."""

    def __init__(self, name: str, label: str, is_caller: object, **differing: str) -> None:
        self.__dict__ = {**DEFAULTS, "NAME": name, "LABEL": label, "is_caller": is_caller, **differing}


def _is_copilot(payload: dict[str, object]) -> bool:
    """True for its own payload, or its variant of Claude Code's: with a timestamp, and mostly without a transcript."""
    path, _, file = transcript(payload)
    if file:
        return file == "events.jsonl" and "/session-state/" in path
    return "timestamp" in payload and any(key in payload for key in ("sessionId", "hook_event_name"))


def _is_codex(payload: dict[str, object]) -> bool:
    """True for a rollout as transcript, or none but a turn id or the null path of an unsaved conversation."""
    file = transcript(payload)[2]
    if file:
        return file.startswith("rollout-")
    return any(key in payload for key in ("turn_id", "turn-id")) or payload.get("transcript_path", "") is None


def _is_gemini(payload: dict[str, object]) -> bool:
    _, folder, file = transcript(payload)
    return folder == "chats" and file.startswith("session-")


ROWS = (
    Client("kimi", "Kimi CLI", lambda payload: text_of(payload, "client_type").startswith("kimi")),
    Client("cursor", "Cursor", lambda payload: "cursor_version" in payload, MARK="CURSOR_VERSION"),
    Client("copilot", "Copilot CLI", _is_copilot, CONVERSATION="COPILOT_AGENT_SESSION_ID", MARK="COPILOT_CLI"),
    Client("opencode", "OpenCode", lambda payload: "sessionID" in payload),
    Client("codex", "Codex", _is_codex),
    Client("gemini", "Gemini CLI", _is_gemini, CONVERSATION="GEMINI_SESSION_ID", MARK="GEMINI_SESSION_ID"),
    Client("qwen", "Qwen Code", lambda call: transcript(call)[1] == "chats" and is_named_by_session(call)),
)
CLIENTS: dict[str, Client] = {client.__dict__["NAME"]: client for client in ROWS}
