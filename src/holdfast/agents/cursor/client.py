"""Cursor's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "cursor", "Cursor"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = None, "CURSOR_VERSION"


def is_caller(payload: dict[str, object]) -> bool:
    return "cursor_version" in payload
