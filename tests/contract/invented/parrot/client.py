"""Parrot's description for hooks. Hooks load this, so it imports nothing."""

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
TOOL = MARK = None
PLACES = ("talk", "log", "at")
RECORDED: tuple[str, ...] = ()
STATUS_LINE = ""
COMMAND = b'"words":"*'


def is_caller(payload: dict[str, object]) -> bool:
    return "talk" in payload
