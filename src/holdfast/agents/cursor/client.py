"""Cursor's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403

NAME, LABEL = "cursor", "Cursor"
MARK = "CURSOR_VERSION"


def is_caller(payload: dict[str, object]) -> bool:
    return "cursor_version" in payload
