"""The door of calls found through PATH: `holdfast-hook [--plugin] AGENT EVENT`. It keeps the call, or answers it.

It loads no more than that needs, and leaves without the interpreter's own farewell. It always exits with 0. Called by
the plugin, it leaves in silence where a settings file that the client reads calls us for the same event: nothing is
recorded or told twice.
"""

from __future__ import annotations

import os
import sys

from holdfast.agents.claude.hooks import (  # all of it would load more
    AND,
    ANSWERED,
    PLUGIN,
    QUOTE,
    SCRIPTS,
    STATUS_LINE,
    forms,
)
from holdfast.surfaces.hooks.record import hook
from holdfast.system.locate import main_worktree

LIMIT = 4 * 1024 * 1024
SPACES = b" \t\r\n"


def main() -> None:
    try:
        words = sys.argv[1:]
        by_plugin = words[:1] == [PLUGIN]
        agent, event = words[by_plugin:][:2]
        if by_plugin and is_called_by_settings(event):
            return
        if event in ANSWERED or event == STATUS_LINE:
            from holdfast.surfaces.hooks.handle_call import main as answer

            answer([agent, event])
            sys.stdout.flush()
        else:
            hook(agent, event)
    finally:
        os._exit(0)


def is_called_by_settings(event: str) -> bool:
    """Whether the client's settings call us for an event, seen from the place that it names."""
    project = os.path.abspath(os.environ.get("CLAUDE_PROJECT_DIR") or ".")
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ.get("HOME", "") + "/.claude"
    places = [f"{project}/.claude/settings.local.json", f"{project}/.claude/settings.json", f"{own}/settings.json"]
    if main := main_worktree(project):  # whose local settings hold for the worktrees beside it too
        places.append(f"{main}/.claude/settings.local.json")
    return any(_calls(_read(place), event) for place in places)


def _calls(settings: bytes, event: str) -> bool:
    if b"holdfast" not in settings:
        return False
    packed = settings.translate(None, SPACES)  # somebody may have formatted them anew
    through_path, *exact = forms(event)
    return through_path in packed or (any(form in packed for form in exact) and _is_there(settings))


def _is_there(settings: bytes) -> bool:
    """Whether the program that these settings run is still there: calls to a removed Holdfast record nothing."""
    ends = [(quote, script.encode() + quote) for script in SCRIPTS for quote in (b"'", b'"')]
    for quote, end in ends:
        begin, at = AND.encode() + quote if quote == b"'" else quote, settings.find(end)
        if at >= 0:
            path = settings[settings.rfind(begin, 0, at) + len(begin) : at + len(end) - 1]
            return os.path.exists(path.replace(b"\\\\", b"\\").replace(QUOTE.encode(), b"'"))
    return True


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place must not hold us up
    except (OSError, ValueError):
        return b""
    try:
        return os.read(file, LIMIT)
    except OSError:
        return b""
    finally:
        os.close(file)
