"""Qwen Code's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "qwen", "Qwen Code"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = None, None


def is_caller(payload: dict[str, object]) -> bool:
    from holdfast.agents.payloads import is_named_by_session, transcript

    return transcript(payload)[1] == "chats" and is_named_by_session(payload)
