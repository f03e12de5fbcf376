"""Hook commands: the shell commands that we write into the settings of clients, and their recognition there.

Clients run each other's settings files, and some ignore `args`. So a hook is a single shell command line. It exits with
0 and prints nothing if Python or Holdfast is missing, and uses `exec`, so that the client is the parent of our process.

`holdfast-hook`, the program of committed hooks, loads this too, so it imports nothing.
"""

from __future__ import annotations

RECORD, ANSWER = "/holdfast/surfaces/hooks/entry.py", "/holdfast/surfaces/hooks/answer.py"
SCRIPTS = (RECORD, ANSWER, "/holdfast/inbox.py")  # the last one was used by older versions
MODULE, PROGRAM = " -m holdfast hook ", "holdfast-hook"  # used by the other forms of our commands
TEST, AND, OR, QUOTE = "test -x ", " && test -r ", " || exit 0; exec ", "'\\''"  # parts of a command with paths
FIND = f'p=$(command -v {PROGRAM}) && read -r i <"$p" && i=${{i#??}} && test -x "${{i%% *}}" || exit 0'
PLUGIN = "--plugin"  # marks a call of the plugin, as opposed to a settings file


def exact(agent: str, event: str, python: str, script: str, *, answers: bool) -> str:
    """The command with absolute paths. It tests for the script: without it Python exits with 2, and clients block."""
    program, quoted = quote(python), quote(script[: script.rfind("/holdfast/")] + ANSWER if answers else script)
    return f"{TEST}{program}{AND}{quoted}{OR}{program} -I{'' if answers else ' -S'} {quoted} {agent} {event}"


def through_path(*arguments: str) -> str:
    """The command for committed settings: found through PATH, and silent if Holdfast is not installed.

    A program whose interpreter is missing is found too, and its `exec` fails with 127, on which a client may deny its
    own tool call. So the command tests the interpreter named in the first line of the program.
    """
    return f"{FIND}; exec {PROGRAM} {' '.join(arguments)}"


def quote(path: str) -> str:
    return "'" + path.replace("'", QUOTE) + "'"


def files_of(handler: object) -> tuple[str, list[str]] | None:
    """The interpreter and the scripts of our hook command; None if it finds them through PATH.

    None also for a command that only resembles ours: the shell may run something else for it.
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
    of_older = f"{TEST}{quote(python)}{AND}{quote(path)}{OR}{quote(python)} -I{MODULE}{agent} {event}"
    forms = (of_older, *(exact(agent, event, python, path, answers=answers) for answers in (False, True)))
    return (python, [path]) if command in forms else None


def is_old(handler: object) -> bool:
    """True for the form of the first versions: the program alone, with `args`."""
    return isinstance(handler, dict) and isinstance(handler.get("args"), list)


def is_ours(handler: object) -> bool:
    """True if a handler runs Holdfast, in the form of this version or of an older one."""
    if not isinstance(handler, dict):
        return False
    args = handler.get("args")
    parts = [handler.get("command"), *(args if isinstance(args, list) else [])]
    line = " ".join(part for part in parts if isinstance(part, str))
    words = [word.strip("\"'") for word in line.replace(";", " ").split()]
    return MODULE in line or any(word.endswith(SCRIPTS) or word.rpartition("/")[2] == PROGRAM for word in words)


def forms(agent: str, event: str) -> tuple[bytes, ...]:
    """Byte strings that show a hook of ours for an event in settings without whitespace: first the form through PATH,
    then all others, old and new. The command of our plugin contains none of them."""
    old = f'"{agent}","{event}"'
    scripts = [form for script in SCRIPTS for form in (f"{script}'{agent}{event}\"", f'{script}",{old}')]
    ends = f'{PROGRAM}{agent}{event}"', f'-mholdfasthook{agent}{event}"', f'"holdfast","hook",{old}'
    return tuple(end.encode() for end in (*ends, *scripts))
