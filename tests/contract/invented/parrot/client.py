"""Parrot's description for hooks."""

from holdfast.agents.generic_client import *  # noqa: F403

NAME, LABEL = "parrot", "Parrot"
MOMENTS = {
    "opened": "start",
    "heard": "prompt",
    "acted": "action",
    "rested": "turn",
    "squeezing": "compacting",
    "squeezed": "compacted",
    "closed": "end",
}
PROJECT, PROCESS, CONVERSATION = "PARROT_CAGE", "PARROT_PID", "PARROT_TALK"
PLACES = ("talk", "log", "at")
STATUS_LINE = ""
COMMAND = b'"words":"*'


def is_caller(payload: dict[str, object]) -> bool:
    return "talk" in payload
