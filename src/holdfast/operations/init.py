"""Prepare a project, and switch recording off and on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.agents.claude import hooks as hooking, install, installed, plugin_commands, settings_file
from holdfast.agents.protocol import ENTRY
from holdfast.core.errors import HoldfastError, Refused, WrongUsage
from holdfast.core.text import path_text
from holdfast.ingest.catch_up import has_files
from holdfast.layouts.faber import client_hooks
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files

AGENTS = (hooking.AGENT, "none")


class Initialised(Struct):
    directory: str
    store: str
    created: bool
    hook: str  # the program that an agent's hook runs
    agent: str | None = None  # whose settings our calls were put into
    scope: str | None = None
    file: str | None = None  # the agent's settings file
    events: dict[str, str] = {}  # for which our call was `added`, `replaced` or `removed`; empty: all was there
    block: dict[str, Any] = {}  # what stands in that file for us
    plugin: str | None = None  # the directory of our plugin, where it was asked for
    commands: list[str] = []  # that load the plugin: the first for one session, the others for all
    faber_hooks: list[str] = []  # settings files from which hooks of FABER's own were removed
    hints: list[str] = []


class Switched(Struct):
    store: str
    off: bool
    changed: bool


def init(
    workspace: Workspace,
    *,
    adopt: bool = False,
    agent: str | None = None,
    scope: str | None = None,
    plugin: bool = False,
    status_line: bool = False,
    faber_hooks: str | None = None,
    dry_run: bool = False,
) -> Initialised:
    """Make the store of this project, and put our calls into its agent's settings, if the agent is there.

    The scope is `local`, unless it is said; whoever says it means that there is an agent. With `plugin`, no settings
    are written: our plugin brings the calls, and how it is loaded is said. With `status_line`, our line is put there as
    well, unless there is one. With `adopt`, believe a store that came from elsewhere. With `dry_run`, only say what
    would be put where.

    Hooks of FABER's own in this project's settings are removed with `faber_hooks="replace"`; else they are kept, and
    Holdfast's hooks leave FABER's sessions to them.
    """
    if faber_hooks is not None and faber_hooks not in client_hooks.CHOICES:
        raise WrongUsage(f'FABER\'s hooks cannot be "{faber_hooks}"', [("choices", ", ".join(client_hooks.CHOICES))])
    if plugin and status_line:
        raise WrongUsage(
            "The plugin writes no settings, so no status line either", hints=["`holdfast init --status-line`"]
        )
    if earlier := workspace.told_of_earlier():
        workspace.warn(earlier)
    if plugin:
        return _with_plugin(workspace, adopt, agent, scope, dry_run)
    is_wanted = scope is not None or status_line or install.is_used(workspace.root, workspace.environ)
    chosen = agent or (hooking.AGENT if is_wanted else "none")
    scope = scope or "local"
    _check(agent, scope)
    inbox = str(ENTRY)
    result = Initialised(path_text(workspace.root), path_text(workspace.place), False, path_text(inbox))
    if chosen != "none" or dry_run:
        calls = hooking.block(scope, _sayable(sys.executable), _sayable(inbox))
        place = install.place_of(scope, workspace.root, workspace.environ, workspace.user_directory("state"))
        result.agent, result.scope, result.file = hooking.AGENT, scope, path_text(place.path)
        drawing = hooking.status_line(scope, _sayable(sys.executable), _sayable(inbox)) if status_line else None
        line = _status_line(workspace, drawing, result) if drawing else None
        result.block = hooking.as_settings(calls) | ({settings_file.LINE: line} if line else {})
    if dry_run:
        return result
    with files.os_errors():
        result.created = workspace.create(adopt)
        if chosen != "none":
            replaced = _replaced(workspace) if faber_hooks == client_hooks.REPLACE else {}
            drop = client_hooks.is_fabers if scope in replaced else None
            result.events = install.install(place, calls, line, drop).events
            _settle_faber(workspace, scope, replaced, result)
            result.hints += _shown_by_git(workspace, place.path) if scope == "local" and result.events else []
        elif agent is None:
            result.hints.append("`holdfast init --agent claude` lets Claude Code call Holdfast")
    return result


def _replaced(workspace: Workspace) -> dict[str, str]:
    """The settings files of this project with hooks of FABER's own, by scope."""
    found = client_hooks.find_hooks(workspace.root, workspace.environ, workspace.user_directory("state"))
    return {hooks.level: hooks.where for hooks in found if hooks.can_be_replaced}


def _settle_faber(workspace: Workspace, scope: str, replaced: dict[str, str], result: Initialised) -> None:
    """Remove FABER's own hooks from the project's other settings file too, and say which are left."""
    state = workspace.user_directory("state")
    for other in replaced.keys() - {scope}:
        place = install.place_of(other, workspace.root, workspace.environ, state)
        install.install(place, None, is_unwanted=client_hooks.is_fabers)
    result.faber_hooks = list(replaced.values())
    if left := client_hooks.find_hooks(workspace.root, workspace.environ, state):
        result.hints.append("; ".join([client_hooks.told(left), *client_hooks.ways_to_replace(left)]))


def _status_line(workspace: Workspace, line: hooking.Handler, result: Initialised) -> hooking.Handler | None:
    """What draws our line; None where the user has a line of his own, at whatever level: it is never taken over."""
    for level in installed.levels(workspace.root, workspace.environ, workspace.user_directory("state")):
        if settings_file.LINE in level.settings and not hooking.is_ours(level.settings[settings_file.LINE]):
            stays = f"the status line in {path_text(level.path)} stays"
            result.hints.append(f"{stays}; to show ours too, let it call, with the same input: `({line['command']})`")
            return None
    return line


def _with_plugin(workspace: Workspace, adopt: bool, agent: str | None, scope: str | None, dry_run: bool) -> Initialised:
    if scope is not None:
        raise WrongUsage("The plugin has no scope: it writes no settings", hints=["`holdfast init --plugin`"])
    if agent not in (None, hooking.AGENT):
        raise WrongUsage("The plugin is for Claude Code", hints=["`holdfast init --plugin`"])
    inbox = str(ENTRY)
    result = Initialised(path_text(workspace.root), path_text(workspace.place), False, path_text(inbox), hooking.AGENT)
    result.plugin = _sayable(str(plugin_commands.DIRECTORY))
    result.commands, result.block = plugin_commands.commands(result.plugin), hooking.plugin()
    if has_files(workspace):
        names = "`/fractary-faber:session-load` and the others"
        result.hints.append(f"`{plugin_commands.faber_command()}` adds FABER's own names: {names}")
    if not dry_run:
        with files.os_errors():
            result.created = workspace.create(adopt)
    return result


def _check(agent: str | None, scope: str) -> None:
    if agent is not None and agent not in AGENTS:
        raise WrongUsage(f'There is no agent "{agent}" to install for', [("agents", ", ".join(AGENTS))])
    if scope not in hooking.SCOPES:
        raise WrongUsage(f'There is no scope "{scope}"', [("scopes", ", ".join(hooking.SCOPES))])


def _sayable(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        path = ""
    if not path:
        raise Refused("The path of this Python cannot be written into a settings file", [("python", sys.executable)])
    return path


def _shown_by_git(workspace: Workspace, path: Path) -> list[str]:
    """A hint where git lists our file among what it does not know yet. It is asked; nothing of the user's changes."""
    name = os.fsencode(path.relative_to(workspace.root))
    try:
        with shadow_of(workspace) as shadow:
            if not shadow.repository.exists or shadow.ignores(name):
                return []
    except HoldfastError:  # no git, so nothing is shown
        return []
    shown = path_text(path.relative_to(workspace.root))
    return [f"git shows {shown} as a new file, and it is for this machine only: add it to `.git/info/exclude`"]


def off(workspace: Workspace) -> Switched:
    """Record nothing in this project until `on`."""
    return _switch(workspace, True)


def on(workspace: Workspace) -> Switched:
    """Record again."""
    return _switch(workspace, False)


def _switch(workspace: Workspace, off: bool) -> Switched:
    workspace.check_exists()
    workspace.check_ours()
    marker = workspace.here / "off"
    changed = marker.exists() != off
    if changed and off:
        files.write(marker, b"")
    elif changed:
        files.remove(marker)
    return Switched(path_text(workspace.place), off, changed)
