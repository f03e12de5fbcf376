"""Kimi CLI's description for hooks. Hooks load this, so it imports only the defaults."""

from holdfast.agents.generic_client import (
    COMMAND as COMMAND,
    MOMENTS as MOMENTS,
    PLACES as PLACES,
    RECORDED as RECORDED,
)

NAME, LABEL = "kimi", "Kimi CLI"
PROJECT = PROCESS = TOOL = None
CONVERSATION, MARK = None, None


def is_caller(payload: dict[str, object]) -> bool:
    from holdfast.agents.payloads import text_of

    return text_of(payload, "client_type").startswith("kimi")
