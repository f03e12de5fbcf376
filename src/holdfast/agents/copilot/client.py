"""Copilot CLI's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403
from holdfast.agents.generic_client import transcript

NAME, LABEL = "copilot", "Copilot CLI"
CONVERSATION, MARK = "COPILOT_AGENT_SESSION_ID", "COPILOT_CLI"


def is_caller(payload: dict[str, object]) -> bool:
    """True for its own payload, or its variant of Claude Code's: with a timestamp, and mostly without a transcript."""
    path, _, file = transcript(payload)
    if file:
        return file == "events.jsonl" and "/session-state/" in path
    return "timestamp" in payload and any(key in payload for key in ("sessionId", "hook_event_name"))
