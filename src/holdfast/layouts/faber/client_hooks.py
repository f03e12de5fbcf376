"""FABER's own hooks: those of its documents in a client's settings file, and those that its plugin brings.

They load and save the same session records as Holdfast's hooks, so only one of both may be active.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.agents.claude import bundled_plugin
from holdfast.agents.protocol import HookCommand, Moment, Setup
from holdfast.agents.registry import adapters

COMMAND = re.compile(r"/fractary-faber:|\bfractary-faber session-|faber/hooks/")
SESSION = (Moment.START, Moment.COMPACTING, Moment.END)  # at which FABER loads or saves
PLUGINS = (f"{bundled_plugin.FABER}@", "faber@")
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


def is_fabers(command: str) -> bool:
    """Whether a hook runs a session command of FABER's."""
    return COMMAND.search(command) is not None


def find_hooks(setup: Setup) -> list[FaberHooks]:
    """FABER's own hooks that hold for a project, in the settings and plugins of every agent."""
    commands = [command for agent in adapters() for command in agent.hook_commands(setup)]
    found = [FaberHooks(each.level, each.where, each.is_own) for each in commands if _is_one(each)]
    return list(dict.fromkeys(found))


def _is_one(found: HookCommand) -> bool:
    """Older versions of FABER's plugin have no hooks for sessions, and the one beside our own has none at all."""
    if found.level == "plugin":
        return found.where.startswith(PLUGINS) and found.moment in SESSION
    return is_fabers(found.command)


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


def told_of_names() -> str:
    """How FABER's own names of its session commands are installed beside our plugin."""
    return f"`{bundled_plugin.faber_command()}` adds FABER's own names: `/fractary-faber:session-load` and the others"
