"""Codex's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "codex", "Codex"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = None, None


def is_caller(payload: dict[str, object]) -> bool:
    """True for a rollout as transcript, or none but a turn id or the null path of an unsaved conversation."""
    from holdfast.agents.payloads import transcript

    _, _, file = transcript(payload)
    if file:
        return file.startswith("rollout-")
    return any(key in payload for key in ("turn_id", "turn-id")) or payload.get("transcript_path", "") is None
