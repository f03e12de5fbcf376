"""What we ask Claude Code to call, and how we know our own calls again in somebody's settings.

The door of committed hooks loads this too, so it imports nothing.
"""

from __future__ import annotations

KEPT = (
    "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "StopFailure", "SubagentStart",
    "SubagentStop", "TaskCreated", "TaskCompleted", "PostCompact", "PermissionRequest", "Notification",
    "CwdChanged",
)  # fmt: skip
ANSWERED = {"SessionStart": 30, "PreCompact": 30, "SessionEnd": 10}  # seconds that the client waits for an answer
KEPT_TIMEOUT = 10
STATUS_LINE = "StatusLine"  # what is called to draw the client's status line; it is no event of its hooks
AGENT = "claude"
SCOPES = ("local", "project", "user")
INBOX, ANSWERING, DOOR = "/holdfast/inbox.py", " -m holdfast hook ", "holdfast-hook"  # what every form of ours runs
PLUGIN = "--plugin"  # says that the plugin calls, and not a settings file
TESTED = "2.1.325"  # the client's version that the tests ran with

Handler = dict[str, object]


def block(scope: str, python: str, inbox: str) -> dict[str, Handler]:
    """The call for every event. One that may be committed is found through PATH, and silent where we are not there."""
    make = _committed if scope == "project" else _exact
    calls = {event: make(event, KEPT_TIMEOUT, python, inbox) for event in KEPT}
    return calls | {event: make(event, timeout, python, inbox) for event, timeout in ANSWERED.items()}


def _exact(event: str, timeout: int, python: str, inbox: str) -> Handler:
    kept = ["-I", "-S", inbox, AGENT, event]
    answered = ["-I", "-m", "holdfast", "hook", AGENT, event]
    args = answered if event in ANSWERED else kept
    return {"type": "command", "command": python, "args": args, "timeout": timeout}


def _committed(event: str, timeout: int, _python: str, _inbox: str) -> Handler:
    return _through_path(f"{AGENT} {event}", timeout)


def _through_path(arguments: str, timeout: int) -> Handler:
    command = f"command -v {DOOR} >/dev/null 2>&1 || exit 0; exec {DOOR} {arguments}"
    return {"type": "command", "command": command, "timeout": timeout}


def status_line(scope: str, python: str) -> Handler:
    """What draws the status line, for a settings file. The client takes it as one text for a shell."""
    if scope == "project":
        command = _through_path(f"{AGENT} {STATUS_LINE}", 0)["command"]
    else:
        quoted = "'" + python.replace("'", "'\\''") + "'"
        command = f"{quoted} -I{ANSWERING}{AGENT} {STATUS_LINE}"
    return {"type": "command", "command": command}


def plugin() -> dict[str, object]:
    """The hooks file of our plugin: the same events, and silent where a settings file calls us as well."""
    waits = dict.fromkeys(KEPT, KEPT_TIMEOUT) | ANSWERED
    calls = {event: _through_path(f"{PLUGIN} {AGENT} {event}", timeout) for event, timeout in waits.items()}
    return {"description": "Holdfast records the session, and tells it what earlier ones knew", **as_settings(calls)}


def forms(event: str) -> tuple[bytes, bytes, bytes]:
    """What stands in a settings file, spaces and lines left out, that calls us for an event: kept by its program,
    answered, or found through PATH. Our plugin's own call is none of them."""
    end = f'"{AGENT}","{event}"'
    return f'{INBOX}",{end}'.encode(), f'"holdfast","hook",{end}'.encode(), f'{DOOR}{AGENT}{event}"'.encode()


def as_settings(calls: dict[str, Handler]) -> dict[str, object]:
    """The calls in the form of a settings file."""
    return {"hooks": {event: [{"hooks": [call]}] for event, call in calls.items()}}


def is_ours(handler: object) -> bool:
    """Whether a handler runs Holdfast, in this version's form or an older one's."""
    if not isinstance(handler, dict):
        return False
    args = handler.get("args")
    parts = [handler.get("command"), *(args if isinstance(args, list) else [])]
    line = " ".join(part for part in parts if isinstance(part, str))
    words = [word.strip("\"'") for word in line.replace(";", " ").split()]
    return ANSWERING in line or any(word.endswith(INBOX) or word.rpartition("/")[2] == DOOR for word in words)
