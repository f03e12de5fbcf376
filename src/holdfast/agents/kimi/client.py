"""Kimi CLI's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403
from holdfast.agents.generic_client import text_of

NAME, LABEL = "kimi", "Kimi CLI"


def is_caller(payload: dict[str, object]) -> bool:
    return text_of(payload, "client_type").startswith("kimi")
