"""Prepare a project, and switch recording off and on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from holdfast.agents import install
from holdfast.agents.protocol import Agent, Setup, setup_of
from holdfast.agents.registry import DEFAULT, adapters, find_agent
from holdfast.core.errors import HoldfastError, Refused, WrongUsage
from holdfast.core.question import Choose
from holdfast.core.text import path_text
from holdfast.layouts.registry import layouts
from holdfast.layouts.results import ClientHooks
from holdfast.operations.parameters import flag, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files

REPLACE, KEEP = CHOICES = ("replace", "keep")  # what becomes of them
NONE = "none"  # in place of an agent: no settings are written


SCOPES = tuple(dict.fromkeys(scope for agent in adapters() for scope in agent.SCOPES))
AGENTS = tuple(agent.NAME for agent in adapters())


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


def _ask_about_faber(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    """Ask whether FABER's own hooks in this project's settings make way for ours."""
    if not (given.get("dry_run") or given.get("yes")):
        workspace.check_broad()  # before anything else is asked
    skipped = any(given.get(name) for name in ("faber_hooks", "plugin", "dry_run")) or given.get("agent") == NONE
    found = find_client_hooks(setup_of(workspace)) if can_ask and not skipped else []
    places = ", ".join(hooks.where for hooks in found if hooks.can_be_replaced)
    if not places:
        return None
    prompt = f"FABER's own hooks load and save sessions here ({places}). Replace them with Holdfast's?"
    return Choose(parameter="faber_hooks", prompt=prompt, yes=REPLACE, no=KEEP)


@verb(
    group=Group.SETUP,
    example="holdfast init --agent claude --scope local",
    about="prepare this project",
    common=True,
    syncs=False,
    options=(flag("--yes", help="Do not ask.", gives={"broad": True}),),
    asks=_ask_about_faber,
)
def init(
    workspace: Workspace,
    *,
    adopt: Annotated[bool, option(help="Believe a store that came with a copy or an archive.")] = False,
    agent: Annotated[
        str | None, option(choices=(*AGENTS, NONE), help="The agent that shall call us; else what is here.")
    ] = None,
    scope: Annotated[
        str | None, option(choices=SCOPES, help="For you here (local), for all of the project, or you.")
    ] = None,
    plugin: Annotated[bool, option(help="Write no settings: say how our plugin for Claude Code is loaded.")] = False,
    status_line: Annotated[
        bool, option(help="Show the run and its context in the status line, if there is none.")
    ] = False,
    faber_hooks: Annotated[
        str | None,
        option(choices=CHOICES, help="FABER's own hooks in the settings: ours instead, or they stay."),
    ] = None,
    broad: bool = False,
    dry_run: Annotated[
        bool, option("--print", help="Print what would be put into the settings, and write nothing.")
    ] = False,
) -> Initialised:
    """Prepare this project: make its store, and let its agent call us."""
    if faber_hooks is not None and faber_hooks not in CHOICES:
        raise WrongUsage(f'FABER\'s hooks cannot be "{faber_hooks}"', [("choices", ", ".join(CHOICES))])
    if plugin and status_line:
        raise WrongUsage(
            "The plugin writes no settings, so no status line either", hints=["`holdfast init --status-line`"]
        )
    workspace.allows_broad = workspace.allows_broad or broad
    if earlier := workspace.find_earlier_hint():
        workspace.warn(earlier)
    if plugin:
        return _with_plugin(workspace, adopt, agent, scope, dry_run)
    setup = setup_of(workspace)
    is_wanted = scope is not None or status_line
    chosen = agent or next((each.NAME for each in adapters() if is_wanted or each.is_used(setup)), NONE)
    _check_agent(agent)
    adapter = find_agent(chosen if chosen != NONE else DEFAULT)
    scope = _checked_scope(adapter, scope)
    result = Initialised(path_text(workspace.root), path_text(workspace.place), False, path_text(setup.script))
    drop = is_client_hook if faber_hooks == REPLACE else None
    if chosen != NONE or dry_run:
        setup = setup._replace(python=_sayable(setup.python), script=_sayable(setup.script))
        planned = adapter.plan_install(setup, scope, status_line=status_line, drop=drop)
        result.agent, result.scope, result.file = adapter.NAME, scope, path_text(planned.place.path)
        result.block, result.hints = planned.settings, list(planned.hints)
    if dry_run:
        return result
    with files.os_errors():
        result.created = workspace.create(adopt)
        if chosen != NONE:
            replaced = _replaced(setup) if drop else {}
            result.events = install.install(planned).events
            _settle_faber(setup, adapter, scope, replaced, result)
            is_new = scope == adapter.SCOPES[0] and bool(result.events)
            result.hints += _shown_by_git(workspace, planned.place.path) if is_new else []
        elif agent is None:
            result.hints.append(f"`holdfast init --agent {adapter.NAME}` lets {adapter.LABEL} call Holdfast")
    return result


def _replaced(setup: Setup) -> dict[str, str]:
    """The settings files of this project with hooks of FABER's own, by scope."""
    return {hooks.level: hooks.where for hooks in find_client_hooks(setup) if hooks.can_be_replaced}


def _settle_faber(setup: Setup, adapter: Agent, scope: str, replaced: dict[str, str], result: Initialised) -> None:
    """Remove FABER's own hooks from the project's other settings file too, and name those that are left."""
    for other in replaced.keys() - {scope}:
        install.install(adapter.plan_drop(setup, other, is_client_hook))
    result.faber_hooks = list(replaced.values())
    result.hints += [notice for layout in layouts() if (notice := layout.find_notice(setup))]


def find_client_hooks(setup: Setup) -> list[ClientHooks]:
    """Hooks of other systems' own in the settings and plugins of agents."""
    return [hooks for layout in layouts() for hooks in layout.find_client_hooks(setup)]


def is_client_hook(command: str) -> bool:
    """Whether a hook's command is one of another system's."""
    return any(layout.is_client_hook(command) for layout in layouts())


def _with_plugin(workspace: Workspace, adopt: bool, agent: str | None, scope: str | None, dry_run: bool) -> Initialised:
    setup, adapter = setup_of(workspace), find_agent(agent or DEFAULT)
    found = adapter.find_plugin(setup)
    if scope is not None:
        raise WrongUsage("The plugin has no scope: it writes no settings", hints=["`holdfast init --plugin`"])
    if found is None:
        raise WrongUsage(f"The plugin is for {find_agent(DEFAULT).LABEL}", hints=["`holdfast init --plugin`"])
    place = path_text(workspace.place)
    result = Initialised(path_text(workspace.root), place, False, path_text(setup.script), adapter.NAME)
    result.plugin = _sayable(found.directory)
    result.commands, result.block = found.commands, found.settings
    result.hints += [hint for layout in layouts() if (hint := layout.find_plugin_hint(workspace))]
    if not dry_run:
        with files.os_errors():
            result.created = workspace.create(adopt)
    return result


def _check_agent(agent: str | None) -> None:
    names = [*(each.NAME for each in adapters()), NONE]
    if agent is not None and agent not in names:
        raise WrongUsage(f'There is no agent "{agent}" to install for', [("agents", ", ".join(names))])


def _checked_scope(adapter: Agent, scope: str | None) -> str:
    if scope is not None and scope not in adapter.SCOPES:
        raise WrongUsage(f'There is no scope "{scope}"', [("scopes", ", ".join(adapter.SCOPES))])
    return scope or adapter.SCOPES[0]


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


@verb(group=Group.SETUP, example="holdfast off", about="record nothing in this project", syncs=False)
def off(workspace: Workspace) -> Switched:
    """Record nothing in this project until `holdfast on`. In one shell: `export HOLDFAST=0`."""
    return _switch(workspace, True)


@verb(group=Group.SETUP, example="holdfast on", syncs=False)
def on(workspace: Workspace) -> Switched:
    """Record in this project again."""
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
