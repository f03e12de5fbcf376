"""Reading payloads of unknown shape: whatever is not of the expected type counts as missing."""

from __future__ import annotations

from typing import Any


def text_of(payload: Any, key: str) -> str:
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def transcript(payload: Any) -> tuple[str, str, str]:
    """The path of the transcript that a payload names, its folder's name and its file's name."""
    path = text_of(payload, "transcript_path")
    above, _, file = path.rpartition("/")
    return path, above.rpartition("/")[2], file


def is_named_by_session(payload: Any) -> bool:
    """Whether the transcript's name is that of the conversation, as Claude Code and its descendants have it."""
    return transcript(payload)[2] == f"{text_of(payload, 'session_id')}.jsonl"
