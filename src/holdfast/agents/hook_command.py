"""The shell commands that we put into settings of clients, and their recognition there.

Clients run each other's settings files, and some ignore `args`. So a hook is one text for a shell. It exits with 0 and
prints nothing where Python or Holdfast is gone, and uses `exec`, so that the client is the parent of our program.

The command of committed hooks loads this too, so it imports nothing.
"""

from __future__ import annotations

RECORD, ANSWER = "/holdfast/surfaces/hooks/entry.py", "/holdfast/surfaces/hooks/answer.py"
SCRIPTS = (RECORD, ANSWER, "/holdfast/inbox.py")  # the last one is that of older versions
MODULE, PROGRAM = " -m holdfast hook ", "holdfast-hook"  # what the other forms of ours run
TEST, AND, OR, QUOTE = "test -x ", " && test -r ", " || exit 0; exec ", "'\\''"  # parts of a command with its files
FIND = f'p=$(command -v {PROGRAM}) && read -r i <"$p" && i=${{i#??}} && test -x "${{i%% *}}" || exit 0'
PLUGIN = "--plugin"  # says that the plugin calls, and not a settings file


def exact(agent: str, event: str, python: str, script: str, *, answers: bool) -> str:
    """The command that runs these files. It tests for the script: without it Python exits with 2, and clients block."""
    program, quoted = quote(python), quote(script[: script.rfind("/holdfast/")] + ANSWER if answers else script)
    return f"{TEST}{program}{AND}{quoted}{OR}{program} -I{'' if answers else ' -S'} {quoted} {agent} {event}"


def through_path(*arguments: str) -> str:
    """The command for settings that are committed: found through PATH, and silent where it is not installed.

    A program whose interpreter is gone is found too, and `exec` of it fails with 127, for which a client may deny its
    own tool call. So the interpreter that its first line names is tested.
    """
    return f"{FIND}; exec {PROGRAM} {' '.join(arguments)}"


def quote(path: str) -> str:
    return "'" + path.replace("'", QUOTE) + "'"


def files_of(handler: object) -> tuple[str, list[str]] | None:
    """The interpreter and the scripts that a command of ours names; None where it leaves them to PATH.

    A text that only resembles ours names nothing: the shell may run something else for it.
    """
    if not isinstance(handler, dict) or not isinstance(command := handler.get("command"), str):
        return None
    if is_old(handler):
        return command, [word for word in handler["args"] if isinstance(word, str) and word.endswith(SCRIPTS)]
    program, _, rest = command.removeprefix(TEST).partition(AND)
    script = rest.partition(OR)[0]
    python, path = (part[1:-1].replace(QUOTE, "'") for part in (program, script))
    agent, _, event = command.rpartition(" ")[0].rpartition(" ")[2], "", command.rpartition(" ")[2]
    if not agent.isidentifier() or not event.isidentifier():
        return None
    forms = (
        f"{TEST}{program}{AND}{script}{OR}{program} -I -S {script} {agent} {event}",
        f"{TEST}{program}{AND}{script}{OR}{program} -I {script} {agent} {event}",
        f"{TEST}{program}{AND}{script}{OR}{program} -I{MODULE}{agent} {event}",  # of older versions
    )
    is_quoted = (quote(python), quote(path)) == (program, script)
    return (python, [path]) if is_quoted and command in forms else None


def is_old(handler: object) -> bool:
    """Whether a command has the form of the first versions: the program alone, and `args`."""
    return isinstance(handler, dict) and isinstance(handler.get("args"), list)


def is_ours(handler: object) -> bool:
    """Whether a handler runs Holdfast, in this version's form or an older one's."""
    if not isinstance(handler, dict):
        return False
    args = handler.get("args")
    parts = [handler.get("command"), *(args if isinstance(args, list) else [])]
    line = " ".join(part for part in parts if isinstance(part, str))
    words = [word.strip("\"'") for word in line.replace(";", " ").split()]
    return MODULE in line or any(word.endswith(SCRIPTS) or word.rpartition("/")[2] == PROGRAM for word in words)


def forms(agent: str, event: str) -> tuple[bytes, ...]:
    """Parts of a settings file, spaces and lines left out, that call us for an event: through PATH, or by the present
    or an older form. Our plugin's own call is none of them."""
    old = f'"{agent}","{event}"'
    scripts = [form for script in SCRIPTS for form in (f"{script}'{agent}{event}\"", f'{script}",{old}')]
    ends = f'{PROGRAM}{agent}{event}"', f'-mholdfasthook{agent}{event}"', f'"holdfast","hook",{old}'
    return tuple(end.encode() for end in (*ends, *scripts))
