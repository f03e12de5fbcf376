"""Copilot CLI's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "copilot", "Copilot CLI"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = "COPILOT_AGENT_SESSION_ID", "COPILOT_CLI"


def is_caller(payload: dict[str, object]) -> bool:
    """True for its own payload, or its variant of Claude Code's: with a timestamp, and mostly without a transcript."""
    from holdfast.agents.payloads import transcript

    path, _, file = transcript(payload)
    if file:
        return file == "events.jsonl" and "/session-state/" in path
    return "timestamp" in payload and any(key in payload for key in ("sessionId", "hook_event_name"))
