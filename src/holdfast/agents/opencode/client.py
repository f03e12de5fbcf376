"""OpenCode's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403

NAME, LABEL = "opencode", "OpenCode"


def is_caller(payload: dict[str, object]) -> bool:
    return "sessionID" in payload
