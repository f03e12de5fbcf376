"""OpenCode's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "opencode", "OpenCode"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = None, None


def is_caller(payload: dict[str, object]) -> bool:
    return "sessionID" in payload
