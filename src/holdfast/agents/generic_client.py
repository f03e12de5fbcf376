"""Defaults of a client's description for hooks: the events of Claude Code, whose names other clients adopted.

Hooks load this, so it imports nothing. A `client.py` imports all of it, and defines what differs.
"""

NAME, LABEL = "", "an agent"
EVENTS = {
    "start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "action": "PreToolUse PostToolUse PostToolUseFailure PostToolBatch SubagentStart SubagentStop",
    "turn": "Stop StopFailure",
    "compacting": "PreCompact",
    "compacted": "PostCompact",
    "end": "SessionEnd",
    "other": "Setup PermissionRequest Notification CwdChanged",
}
MOMENTS = {event: moment for moment, events in EVENTS.items() for event in events.split()}
PROJECT: str | None = None  # the environment variable with its project
PROCESS: str | None = None  # its process id
CONVERSATION: str | None = None  # its conversation
MARK: str | None = None  # the variable that identifies the client of a call
TOOL: str | None = None  # the variable that identifies a command started by one of its tools
PLACES = ("session_id", "transcript_path", "cwd")  # payload keys that route a call to its run: never redacted
RECORDED: tuple[str, ...] = ()  # further variables that are recorded with a call
COMMAND = b""  # bytes that the payload of a prompt with a chat command contains; empty: chat commands are unsupported
CONVERSES = b""  # the bytes before the conversation's id in such a payload


# Tolerant access to payloads of unknown shape: a value of an unexpected type counts as missing.


def text_of(payload: object, key: str) -> str:
    value = payload.get(key) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def transcript(payload: object) -> tuple[str, str, str]:
    """The path of the transcript in a payload, the name of its directory and the name of the file."""
    path = text_of(payload, "transcript_path")
    above, _, file = path.rpartition("/")
    return path, above.rpartition("/")[2], file


def is_named_by_session(payload: object) -> bool:
    """True if the transcript is named after the conversation, as Claude Code and its forks do."""
    return transcript(payload)[2] == f"{text_of(payload, 'session_id')}.jsonl"
