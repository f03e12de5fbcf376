"""FABER's own hooks, in a client's settings file or its plugin.

They load and save the same session records as Holdfast's hooks, so only one of both may be active.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.agents.claude.hooks import FABER_PLUGIN, faber_command
from holdfast.agents.protocol import HookCommand, Moment, Setup, setup_of
from holdfast.agents.registry import adapters
from holdfast.core.model import WARNING, Check
from holdfast.layouts.faber.schema import is_used
from holdfast.layouts.results import ClientHooks
from holdfast.project.workspace import Workspace

COMMAND = re.compile(r"/fractary-faber:|\bfractary-faber session-|faber/hooks/")
SESSION = (Moment.START, Moment.COMPACTING, Moment.END)  # when FABER loads or saves
PLUGINS = (f"{FABER_PLUGIN}@", "faber@")


def is_client_hook(command: str) -> bool:
    return COMMAND.search(command) is not None


def find_client_hooks(setup: Setup) -> list[ClientHooks]:
    """Find FABER's own hooks for a project, in the settings and plugins of every agent."""
    commands = [command for agent in adapters() for command in agent.hook_commands(setup)]
    found = [ClientHooks(each.level, each.where, each.is_own) for each in commands if _is_one(each)]
    return list(dict.fromkeys(found))


def _is_one(found: HookCommand) -> bool:
    """Older versions of FABER's plugin have no hooks for sessions, and the one in our marketplace has none at all."""
    if found.level == "plugin":
        return found.where.startswith(PLUGINS) and found.moment in SESSION
    return is_client_hook(found.command)


def told(found: list[ClientHooks]) -> str:
    places = ", ".join(hooks.where for hooks in found)
    return f"FABER's own hooks are active ({places}), so Holdfast leaves loading and saving FABER's sessions to them"


def ways_to_replace(found: list[ClientHooks]) -> list[str]:
    ways = ["`holdfast init --faber-hooks replace`"] if any(hooks.can_be_replaced for hooks in found) else []
    for hooks in found:
        if hooks.level == "plugin":
            ways.append(f"`claude plugin disable {hooks.where}` turns the plugin off, with its commands")
        elif not hooks.can_be_replaced:
            ways.append(f"remove them from {hooks.where}, which holds for other projects too")
    return ways


def find_plugin_hint(workspace: Workspace) -> str | None:
    if not is_used(workspace):
        return None
    return f"`{faber_command()}` adds FABER's own names: `/fractary-faber:session-load` and the others"


def health(workspace: Workspace) -> Iterator[Check]:
    if found := find_client_hooks(setup_of(workspace)):
        yield Check("FABER's hooks", WARNING, told(found), ways_to_replace(found))


def find_notice(setup: Setup) -> str | None:
    found = find_client_hooks(setup)
    return "; ".join([told(found), *ways_to_replace(found)]) if found else None
