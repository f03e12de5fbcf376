"""Claude Code, as a hook sees it. Hooks load this, so it imports nothing."""

NAME, LABEL = "claude", "Claude Code"
MOMENTS = {  # the events that `init` asks for, and what each means
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
PLACES = ("session_id", "transcript_path", "cwd")  # keys by which a call finds its run
TOOL = "CLAUDECODE"
MARK = None  # its variables are inherited by clients that it starts, so they prove nothing
RECORDED = (  # the last three are those of clients that run its hooks too
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE",
    "GEMINI_SESSION_ID", "COPILOT_CLI", "CURSOR_VERSION",
)  # fmt: skip
STATUS_LINE = "StatusLine"  # what is called to draw its status line; it is no event
COMMAND, CONVERSES = b'"prompt":"*', b'"session_id":"'


def is_caller(payload: dict[str, object]) -> bool:
    from holdfast.agents.payloads import is_named_by_session, transcript

    return "/projects/" in transcript(payload)[0] and is_named_by_session(payload)
