"""The hooks that we put into settings of Claude Code, and their recognition there.

Other clients run the hooks of these files too, and ignore `args`. So a hook is one text for a shell. It exits with 0
and prints nothing where Python or Holdfast is gone, and uses `exec`, so that the client is the parent of our program.

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
SCRIPTS = ("/holdfast/surfaces/hooks/entry.py", "/holdfast/inbox.py")  # the second one is that of older versions
ANSWERING, DOOR = " -m holdfast hook ", "holdfast-hook"  # what the other forms of ours run
TEST, AND, OR, QUOTE = "test -x ", " && test -r ", " || exit 0; exec ", "'\\''"  # parts of a call that names its files
PLUGIN = "--plugin"  # says that the plugin calls, and not a settings file
TESTED = "2.1.325"  # the client's version that the tests ran with

Handler = dict[str, object]


def block(scope: str, python: str, inbox: str) -> dict[str, Handler]:
    """The call for every event. One that may be committed is found through PATH, and silent where we are not there."""
    make = _committed if scope == "project" else _exact
    calls = {event: make(event, KEPT_TIMEOUT, python, inbox) for event in KEPT}
    return calls | {event: make(event, timeout, python, inbox) for event, timeout in ANSWERED.items()}


def _exact(event: str, timeout: int, python: str, inbox: str) -> Handler:
    return {"type": "command", "command": _guarded(event, python, inbox), "timeout": timeout}


def _guarded(event: str, python: str, inbox: str) -> str:
    """The text that runs these files. Where the script is missing, Python would exit with 2, and the client block."""
    program, script = _quoted(python), _quoted(inbox)
    keeps = event not in ANSWERED and event != STATUS_LINE
    arguments = f" -I -S {script} " if keeps else f" -I{ANSWERING}"
    return f"{TEST}{program}{AND}{script}{OR}{program}{arguments}{AGENT} {event}"


def _quoted(path: str) -> str:
    return "'" + path.replace("'", QUOTE) + "'"


def named_by(handler: object) -> tuple[str, list[str]] | None:
    """The interpreter and the hook programs that a call of ours names; None where it leaves them to PATH.

    A text that only resembles ours names nothing: the shell may run something else for it.
    """
    if not isinstance(handler, dict) or not isinstance(command := handler.get("command"), str):
        return None
    if is_old(handler):
        return command, [word for word in handler["args"] if isinstance(word, str) and word.endswith(SCRIPTS)]
    program, _, rest = command.removeprefix(TEST).partition(AND)
    script = rest.partition(OR)[0]
    python, inbox = (path[1:-1].replace(QUOTE, "'") for path in (program, script))
    event = command.rpartition(" ")[2]
    return (python, [inbox]) if event.isalnum() and command == _guarded(event, python, inbox) else None


def is_old(handler: object) -> bool:
    """Whether a call has the form of earlier versions: the program alone, and `args`, which other clients ignore."""
    return isinstance(handler, dict) and isinstance(handler.get("args"), list)


def _committed(event: str, timeout: int, _python: str, _inbox: str) -> Handler:
    return _through_path(f"{AGENT} {event}", timeout)


def _through_path(arguments: str, timeout: int) -> Handler:
    command = f"command -v {DOOR} >/dev/null 2>&1 || exit 0; exec {DOOR} {arguments}"
    return {"type": "command", "command": command, "timeout": timeout}


def status_line(scope: str, python: str, inbox: str) -> Handler:
    """The call that draws the status line, for a settings file."""
    if scope == "project":
        command = _through_path(f"{AGENT} {STATUS_LINE}", 0)["command"]
    else:
        command = _guarded(STATUS_LINE, python, inbox)
    return {"type": "command", "command": command}


def plugin() -> dict[str, object]:
    """The hooks file of our plugin: the same events, and silent where a settings file calls us as well."""
    waits = dict.fromkeys(KEPT, KEPT_TIMEOUT) | ANSWERED
    calls = {event: _through_path(f"{PLUGIN} {AGENT} {event}", timeout) for event, timeout in waits.items()}
    return {"description": "Holdfast records the session, and tells it what earlier ones knew", **as_settings(calls)}


def forms(event: str) -> tuple[bytes, ...]:
    """Parts of a settings file, spaces and lines left out, that call us for an event: through PATH, or by the present
    or the old form with and without an answer. Our plugin's own call is none of them."""
    old = f'"{AGENT}","{event}"'
    scripts = [form for script in SCRIPTS for form in (f"{script}'{AGENT}{event}\"", f'{script}",{old}')]
    ends = f'{DOOR}{AGENT}{event}"', f'-mholdfasthook{AGENT}{event}"', f'"holdfast","hook",{old}'
    return tuple(end.encode() for end in (*ends, *scripts))


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
    return ANSWERING in line or any(word.endswith(SCRIPTS) or word.rpartition("/")[2] == DOOR for word in words)
