"""Claude Code's description for hooks. Hooks load this, so it imports nothing."""

NAME, LABEL = "claude", "Claude Code"
MOMENTS = {  # the events that `init` installs hooks for, with their meaning
    "UserPromptSubmit": "prompt",
    "PreToolUse": "action",
    "PostToolUse": "action",
    "PostToolUseFailure": "action",
    "PostToolBatch": "action",
    "Stop": "turn",
    "StopFailure": "turn",
    "SubagentStart": "action",
    "SubagentStop": "action",
    "TaskCreated": "action",
    "TaskCompleted": "action",
    "PostCompact": "compacted",
    "PermissionRequest": "other",
    "Notification": "other",
    "CwdChanged": "other",
    "SessionStart": "start",
    "PreCompact": "compacting",
    "SessionEnd": "end",
}
PROJECT, PROCESS, CONVERSATION = "CLAUDE_PROJECT_DIR", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID"
PLACES = ("session_id", "transcript_path", "cwd")  # payload keys that route a call to its run
TOOL = "CLAUDECODE"
MARK = None  # clients that it starts inherit its variables, so none of them identifies it
RECORDED = (  # the last three belong to other clients that run its hooks
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE",
    "GEMINI_SESSION_ID", "COPILOT_CLI", "CURSOR_VERSION",
)  # fmt: skip
STATUS_LINE = "StatusLine"  # the event name of calls that draw its status line; not an event of the client
COMMAND, CONVERSES = b'"prompt":"*', b'"session_id":"'


def is_caller(payload: dict[str, object]) -> bool:
    from holdfast.agents.generic_client import is_named_by_session, transcript

    return "/projects/" in transcript(payload)[0] and is_named_by_session(payload)
