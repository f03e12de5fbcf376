"""Gemini CLI's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "gemini", "Gemini CLI"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = "GEMINI_SESSION_ID", "GEMINI_SESSION_ID"


def is_caller(payload: dict[str, object]) -> bool:
    from holdfast.agents.payloads import transcript

    _, folder, file = transcript(payload)
    return folder == "chats" and file.startswith("session-")
