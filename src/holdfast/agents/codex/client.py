"""Codex's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403
from holdfast.agents.generic_client import transcript

NAME, LABEL = "codex", "Codex"


def is_caller(payload: dict[str, object]) -> bool:
    """True for a rollout as transcript, or none but a turn id or the null path of an unsaved conversation."""
    _, _, file = transcript(payload)
    if file:
        return file.startswith("rollout-")
    return any(key in payload for key in ("turn_id", "turn-id")) or payload.get("transcript_path", "") is None
