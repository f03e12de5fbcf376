"""Gemini CLI's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403
from holdfast.agents.generic_client import transcript

NAME, LABEL = "gemini", "Gemini CLI"
CONVERSATION = MARK = "GEMINI_SESSION_ID"


def is_caller(payload: dict[str, object]) -> bool:
    _, folder, file = transcript(payload)
    return folder == "chats" and file.startswith("session-")
