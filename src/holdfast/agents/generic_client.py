"""Defaults of a client's description for hooks: the events of Claude Code, whose names other clients adopted.

Hooks load this, so it imports nothing.
"""

NAME, LABEL = "", "an agent"
MOMENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "action",
    "PostToolUse": "action",
    "PostToolUseFailure": "action",
    "PostToolBatch": "action",
    "SubagentStart": "action",
    "SubagentStop": "action",
    "Stop": "turn",
    "StopFailure": "turn",
    "PreCompact": "compacting",
    "PostCompact": "compacted",
    "SessionEnd": "end",
    "Setup": "other",
    "PermissionRequest": "other",
    "Notification": "other",
    "CwdChanged": "other",
}
PROJECT = PROCESS = CONVERSATION = None  # environment variables with its project, its process id, its conversation
MARK = TOOL = None  # variables that identify the client of a call, and a command started by one of its tools
PLACES = ("session_id", "transcript_path", "cwd")  # payload keys that route a call to its run: never redacted
RECORDED: tuple[str, ...] = ()  # further variables that are recorded with a call
COMMAND = b""  # bytes that the payload of a prompt with a chat command contains; empty: chat commands are unsupported
CONVERSES = b""  # the bytes before the conversation's id in such a payload


def is_caller(payload: dict[str, object]) -> bool:
    """True if the payload of a call identifies this client."""
    return False
