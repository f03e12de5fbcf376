"""Suppression of our plugin's hooks for events that a settings file of the client has our hooks for.

Otherwise such events would be recorded and answered twice. Each call of the plugin loads this, so it imports little.
"""

from __future__ import annotations

import os

from holdfast.agents.claude.client import NAME
from holdfast.agents.hook_command import AND, QUOTE, SCRIPTS, forms
from holdfast.system.locate import main_worktree

LIMIT = 4 * 1024 * 1024
SPACES = b" \t\r\n"


def is_superseded(event: str) -> bool:
    """True if the client's settings for the project have our hook for an event."""
    project = os.path.abspath(os.environ.get("CLAUDE_PROJECT_DIR") or ".")
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ.get("HOME", "") + "/.claude"
    places = [f"{project}/.claude/settings.local.json", f"{project}/.claude/settings.json", f"{own}/settings.json"]
    if main := main_worktree(project):  # its local settings apply to its linked worktrees, too
        places.append(f"{main}/.claude/settings.local.json")
    return any(_calls(_read(place), event) for place in places)


def _calls(settings: bytes, event: str) -> bool:
    if b"holdfast" not in settings:
        return False
    packed = settings.translate(None, SPACES)  # the file may have been reformatted
    through_path, *exact = forms(NAME, event)
    return through_path in packed or (any(form in packed for form in exact) and _is_there(settings))


def _is_there(settings: bytes) -> bool:
    """True if the scripts that these settings run still exist: hooks of a removed Holdfast record nothing."""
    ends = [(quote, script.encode() + quote) for script in SCRIPTS for quote in (b"'", b'"')]
    for quote, end in ends:
        begin, at = AND.encode() + quote if quote == b"'" else quote, settings.find(end)
        path = settings[settings.rfind(begin, 0, at) + len(begin) : at + len(end) - 1]
        if at >= 0 and not os.path.exists(path.replace(b"\\\\", b"\\").replace(QUOTE.encode(), b"'")):
            return False
    return True


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # must not block on a pipe in its place
    except (OSError, ValueError):
        return b""
    try:
        return os.read(file, LIMIT)
    except OSError:
        return b""
    finally:
        os.close(file)
