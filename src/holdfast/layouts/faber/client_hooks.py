"""FABER's own hooks in Claude Code: those of its documents in a settings file, and those that its plugin brings.

They load and save the same session records as Holdfast's hooks, so only one of both may be active.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from holdfast.agents.claude import installed, plugin_commands, settings_file
from holdfast.core.errors import HoldfastError
from holdfast.core.formats.json_limits import sparse
from holdfast.core.text import path_text
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files

COMMAND = re.compile(r"/fractary-faber:|\bfractary-faber session-|faber/hooks/")
EVENTS = ("SessionStart", "PreCompact", "SessionEnd")
PLUGINS = (f"{plugin_commands.FABER}@", "faber@")
HOOKS = "hooks/hooks.json"
LIMIT = 1024 * 1024
REPLACED = ("local", "project")  # levels whose files belong to this project alone
REPLACE, KEEP = CHOICES = ("replace", "keep")


class FaberHooks(NamedTuple):
    """Where hooks of FABER's stand."""

    level: str  # of the settings; `plugin` for those that a plugin brings
    where: str  # the settings file, or the name of the plugin
    is_own: bool  # the file is one of this worktree, from which `init` may remove them

    @property
    def can_be_replaced(self) -> bool:
        return self.is_own and self.level in REPLACED


def is_fabers(handler: object) -> bool:
    """Whether a hook's handler runs a session command of FABER's."""
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and COMMAND.search(command) is not None


def find_hooks(root: Path, environ: Mapping[str, str], state: Path) -> list[FaberHooks]:
    """FABER's own hooks that hold for a project."""
    levels = installed.levels(root, environ, state)
    found = [
        FaberHooks(level.name, path_text(level.path), level.elsewhere is None)
        for level in levels
        if settings_file.find_handlers(level.settings, is_fabers)
    ]
    said = {name: value for level in reversed(levels) for name, value in _plugins(level).items()}
    for name, is_on in said.items():
        directory = installed.installed_at(name, environ) if is_on else None
        if directory is not None and brings_hooks(directory / HOOKS):
            found.append(FaberHooks("plugin", name, False))
    return found


def _plugins(level: installed.Level) -> dict[str, bool]:
    """FABER's plugins that a settings file enables or disables. The one beside our own has its name, and no hooks."""
    enabled = level.settings.get("enabledPlugins")
    found = enabled.items() if isinstance(enabled, dict) else []
    return {name: value is not False for name, value in found if name.startswith(PLUGINS)}


def brings_hooks(path: Path) -> bool:
    """Whether the hooks file of a plugin has any for the events of a session: older versions have none."""
    try:
        hooks = msgspec.json.decode(sparse(files.read(path, LIMIT) or b"{}"))
    except (*UNREADABLE, HoldfastError):
        return False
    events = hooks.get("hooks", hooks) if isinstance(hooks, dict) else {}
    return isinstance(events, dict) and any(event in events for event in EVENTS)


def told(found: list[FaberHooks]) -> str:
    """The sentence that says who loads and saves FABER's sessions here."""
    places = ", ".join(hooks.where for hooks in found)
    return f"FABER's own hooks are active ({places}), so Holdfast leaves loading and saving FABER's sessions to them"


def ways_to_replace(found: list[FaberHooks]) -> list[str]:
    """How each of them makes way for Holdfast's hooks."""
    ways = ["`holdfast init --faber-hooks replace`"] if any(hooks.can_be_replaced for hooks in found) else []
    for hooks in found:
        if hooks.level == "plugin":
            ways.append(f"`claude plugin disable {hooks.where}` turns the plugin off, with its commands")
        elif not hooks.can_be_replaced:
            ways.append(f"remove them from {hooks.where}, which holds for other projects too")
    return ways
