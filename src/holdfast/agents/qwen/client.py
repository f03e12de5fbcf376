"""Qwen Code's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403
from holdfast.agents.generic_client import is_named_by_session, transcript

NAME, LABEL = "qwen", "Qwen Code"


def is_caller(payload: dict[str, object]) -> bool:
    return transcript(payload)[1] == "chats" and is_named_by_session(payload)
