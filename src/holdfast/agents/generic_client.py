"""A client without an adapter, as a hook sees it: the events of Claude Code, whose names other clients took over.

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
PROJECT = PROCESS = CONVERSATION = None  # variables that it sets: its project, its process, its conversation
MARK = TOOL = None  # variables that show that it made a call, and that one of its tools started a command
PLACES = ("session_id", "transcript_path", "cwd")  # keys by which a call finds its run: never redacted
RECORDED: tuple[str, ...] = ()  # further variables that are recorded with a call
COMMAND = b""  # bytes of a prompt's payload where a chat command may have been typed; without them none is answered
CONVERSES = b""  # the bytes before the conversation in such a payload


def is_caller(payload: dict[str, object]) -> bool:
    """Whether the payload of a call shows that this client made it."""
    return False
