"""FABER's own hooks: those of its documents in a client's settings file, and those that its plugin brings.

They load and save the same session records as Holdfast's hooks, so only one of both may be active.
"""

from __future__ import annotations

import re

from holdfast.agents.claude.hooks import FABER_PLUGIN, faber_command
from holdfast.agents.protocol import HookCommand, Moment, Setup
from holdfast.agents.registry import adapters
from holdfast.layouts.faber.presence import is_present
from holdfast.layouts.protocol import ClientHooks
from holdfast.project.workspace import Workspace

COMMAND = re.compile(r"/fractary-faber:|\bfractary-faber session-|faber/hooks/")
SESSION = (Moment.START, Moment.COMPACTING, Moment.END)  # at which FABER loads or saves
PLUGINS = (f"{FABER_PLUGIN}@", "faber@")


def is_client_hook(command: str) -> bool:
    """Whether a hook runs a session command of FABER's."""
    return COMMAND.search(command) is not None


def find_client_hooks(setup: Setup) -> list[ClientHooks]:
    """FABER's own hooks that hold for a project, in the settings and plugins of every agent."""
    commands = [command for agent in adapters() for command in agent.hook_commands(setup)]
    found = [ClientHooks(each.level, each.where, each.is_own) for each in commands if _is_one(each)]
    return list(dict.fromkeys(found))


def _is_one(found: HookCommand) -> bool:
    """Older versions of FABER's plugin have no hooks for sessions, and the one beside our own has none at all."""
    if found.level == "plugin":
        return found.where.startswith(PLUGINS) and found.moment in SESSION
    return is_client_hook(found.command)


def told(found: list[ClientHooks]) -> str:
    """The sentence that says who loads and saves FABER's sessions here."""
    places = ", ".join(hooks.where for hooks in found)
    return f"FABER's own hooks are active ({places}), so Holdfast leaves loading and saving FABER's sessions to them"


def ways_to_replace(found: list[ClientHooks]) -> list[str]:
    """How each of them makes way for Holdfast's hooks."""
    ways = ["`holdfast init --faber-hooks replace`"] if any(hooks.can_be_replaced for hooks in found) else []
    for hooks in found:
        if hooks.level == "plugin":
            ways.append(f"`claude plugin disable {hooks.where}` turns the plugin off, with its commands")
        elif not hooks.can_be_replaced:
            ways.append(f"remove them from {hooks.where}, which holds for other projects too")
    return ways


def find_plugin_hint(workspace: Workspace) -> str | None:
    """How FABER's own names of its session commands are installed beside our plugin."""
    if not is_present(workspace):
        return None
    return f"`{faber_command()}` adds FABER's own names: `/fractary-faber:session-load` and the others"
