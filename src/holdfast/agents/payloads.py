"""Tolerant access to payloads of unknown shape: a value of an unexpected type counts as missing."""

from __future__ import annotations

from typing import Any


def text_of(payload: Any, key: str) -> str:
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def transcript(payload: Any) -> tuple[str, str, str]:
    """The path of the transcript in a payload, the name of its directory and the name of the file."""
    path = text_of(payload, "transcript_path")
    above, _, file = path.rpartition("/")
    return path, above.rpartition("/")[2], file


def is_named_by_session(payload: Any) -> bool:
    """True if the transcript is named after the conversation, as Claude Code and its forks do."""
    return transcript(payload)[2] == f"{text_of(payload, 'session_id')}.jsonl"
