"""Setup of a project: its store and its agent's hooks; its removal; recording switched off and on."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from holdfast.agents import install
from holdfast.agents.install import Changed
from holdfast.agents.protocol import Agent, Place, Setup, setup_of
from holdfast.agents.registry import DEFAULT, adapters, find_agent
from holdfast.core import ids
from holdfast.core.errors import HoldfastError, NotFound, Refused, WrongUsage
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import path_text
from holdfast.layouts.registry import layouts
from holdfast.layouts.results import ClientHooks
from holdfast.operations.parameters import flag, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project import known_projects
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import prune

REPLACE, KEEP = CHOICES = ("replace", "keep")  # FABER's own hooks
NONE = "none"  # in place of an agent: no settings are written
SCOPES = tuple(dict.fromkeys(scope for agent in adapters() for scope in agent.SCOPES))
AGENTS = tuple(agent.NAME for agent in adapters())


class Initialised(Struct):
    directory: str
    store: str
    created: bool
    hook: str  # the program that an agent's hook runs
    agent: str | None = None  # whose settings were changed
    scope: str | None = None
    file: str | None = None  # the agent's settings file
    events: dict[str, str] = {}  # whose hook was `added`, `replaced` or `removed`; empty: nothing to do
    block: dict[str, Any] = {}  # our part of that file
    plugin: str | None = None  # with `--plugin`: its directory
    commands: list[str] = []  # that load the plugin: the first for one session, the others for all
    faber_hooks: list[str] = []  # settings files from which FABER's own hooks were removed
    hints: list[str] = []


class Switched(Struct):
    store: str
    off: bool
    changed: bool


class Uninstalled(Struct):
    files: list[Changed]  # settings files that had our hooks
    purged: str | None = None  # the store that was deleted
    packs: int = 0  # of ours that stay in the repository as ordinary ones, because its history needs them
    hints: list[str] = []


def _ask_about_faber(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    """Ask whether to replace FABER's own hooks in this project's settings."""
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
    about="set this project up",
    common=True,
    syncs=False,
    options=(flag("--yes", help="Do not ask.", gives={"broad": True}),),
    asks=_ask_about_faber,
)
def init(
    workspace: Workspace,
    *,
    adopt: Annotated[bool, option(help="Trust a store that came with a copy or an archive.")] = False,
    agent: Annotated[
        str | None, option(choices=(*AGENTS, NONE), help="The agent to install hooks for; else the one in use.")
    ] = None,
    scope: Annotated[
        str | None, option(choices=SCOPES, help="For you in this project (local), for the project, or for you.")
    ] = None,
    plugin: Annotated[bool, option(help="Write no settings: show how to load the Claude Code plugin.")] = False,
    status_line: Annotated[bool, option(help="Show run and context in the status line, if it is not in use.")] = False,
    faber_hooks: Annotated[
        str | None,
        option(choices=CHOICES, help="Replace FABER's own hooks in the settings, or keep them."),
    ] = None,
    broad: bool = False,
    dry_run: Annotated[bool, option("--print", help="Print the settings, and write nothing.")] = False,
) -> Initialised:
    """Set this project up: create its store, and install hooks for its agent."""
    _check_choice("choice", faber_hooks, CHOICES)
    if plugin and status_line:
        hint = "`holdfast init --status-line`"
        raise WrongUsage("The plugin writes no settings, so no status line either", hints=[hint])
    workspace.allows_broad = workspace.allows_broad or broad
    if earlier := workspace.find_earlier_hint():
        workspace.warn(earlier)
    if plugin:
        return _with_plugin(workspace, adopt, agent, scope, dry_run)
    setup = setup_of(workspace)
    chosen = agent or _default_agent(setup, scope, is_wanted=scope is not None or status_line)
    _check_choice("agent", agent, (*AGENTS, NONE))
    adapter = find_agent(chosen if chosen != NONE else DEFAULT)
    _check_choice("scope", scope, adapter.SCOPES)
    scope = scope or adapter.SCOPES[0]
    result = Initialised(path_text(workspace.root), path_text(workspace.place), False, path_text(setup.script))
    drop = is_client_hook if faber_hooks == REPLACE else None
    if chosen != NONE or dry_run:
        setup = setup._replace(python=_encodable(setup.python), script=_encodable(setup.script))
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
            result.hints += _untracked_hint(workspace, planned.place.path) if is_new else []
        elif agent is None:
            result.hints.append(f"`holdfast init --agent {adapter.NAME}` lets {adapter.LABEL} call Holdfast")
    return result


def _default_agent(setup: Setup, scope: str | None, *, is_wanted: bool) -> str:
    """Return the agent in use here that has the scope. If none is in use but one is wanted, the default one."""
    fitting = [agent for agent in adapters() if scope is None or scope in agent.SCOPES]
    used = [agent.NAME for agent in fitting if agent.is_used(setup)]
    return DEFAULT if DEFAULT in used or (is_wanted and not used) else (used or [NONE])[0]


def _replaced(setup: Setup) -> dict[str, str]:
    """Return the settings files of this project with FABER's own hooks, by scope."""
    return {hooks.level: hooks.where for hooks in find_client_hooks(setup) if hooks.can_be_replaced}


def _settle_faber(setup: Setup, adapter: Agent, scope: str, replaced: dict[str, str], result: Initialised) -> None:
    """Remove FABER's own hooks from the project's other settings files too, and report those that remain."""
    for other in replaced.keys() - {scope}:
        install.install(adapter.plan_drop(setup, other, is_client_hook))
    result.faber_hooks = list(replaced.values())
    result.hints += [notice for layout in layouts() if (notice := layout.find_notice(setup))]


def find_client_hooks(setup: Setup) -> list[ClientHooks]:
    """Return hooks of other systems in the settings and plugins of agents."""
    return [hooks for layout in layouts() for hooks in layout.find_client_hooks(setup)]


def is_client_hook(command: str) -> bool:
    """Check whether a hook's command belongs to another system."""
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
    result.plugin = _encodable(found.directory)
    result.commands, result.block = found.commands, found.settings
    result.hints += [hint for layout in layouts() if (hint := layout.find_plugin_hint(workspace))]
    if not dry_run:
        with files.os_errors():
            result.created = workspace.create(adopt)
    return result


def _check_choice(noun: str, given: str | None, known: tuple[str, ...]) -> None:
    if given is not None and given not in known:
        raise WrongUsage(f'There is no {noun} "{given}"', [(f"{noun}s", ", ".join(known))])


def _encodable(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        path = ""
    if not path:
        raise Refused("The path of this Python cannot be written into a settings file", [("python", sys.executable)])
    return path


def _untracked_hint(workspace: Workspace, path: Path) -> list[str]:
    """Return a hint if git shows our settings file as untracked. git is only read."""
    name = path.relative_to(workspace.root)
    try:
        with shadow_of(workspace) as shadow:
            if not shadow.repository.exists or shadow.ignores(os.fsencode(name)):
                return []
    except HoldfastError:  # no git, so no hint
        return []
    hint = "as a new file, but it is for this machine only: add it to `.git/info/exclude`"
    return [f"git shows {path_text(name)} {hint}"]


@verb(group=Group.SETUP, about="stop recording in this project", syncs=False)
def off(workspace: Workspace) -> Switched:
    """Stop recording in this project until `holdfast on`. In one shell: `export HOLDFAST=0`."""
    return _switch(workspace, True)


@verb(group=Group.SETUP, syncs=False)
def on(workspace: Workspace) -> Switched:
    """Resume recording in this project."""
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


def _ask_to_purge(workspace: Workspace, given: Arguments) -> Choose | None:
    if not given.get("purge"):
        return None
    scope = f" --scope {given['scope']}" if "scope" in given else ""
    prompt = f"Delete {workspace.place} with all runs and checkpoints, for good?"
    return confirmation(prompt, f"holdfast uninit{scope} --purge")


@verb(
    group=Group.SETUP,
    example="holdfast uninit --scope local",
    about="remove Holdfast's hooks from the agent's settings",
    syncs=False,
    confirms=_ask_to_purge,
)
def uninit(
    workspace: Workspace,
    *,
    scope: Annotated[str | None, option(choices=SCOPES, help="Only these settings; else all of this project.")] = None,
    purge: Annotated[bool, option(help="Delete the store too, with all runs and checkpoints.")] = False,
) -> Uninstalled:
    """Remove Holdfast's hooks from the agent's settings, which are then as they were."""
    _check_choice("scope", scope, SCOPES)
    result = Uninstalled([])
    with files.os_errors():
        if purge:
            _check_store(workspace)
        settings = _settings(workspace)
        wanted = [place for name, place, is_here in settings if (is_here if scope is None else name == scope)]
        result.files = [done for place in wanted if (done := install.uninstall(place)).events]
        others = [name for name, place, is_here in settings if scope is None and not is_here and _calls_us(place)]
        for name in dict.fromkeys(others):
            result.hints.append(f"`holdfast uninit --scope {name}` removes them from your own settings too")
        if purge:
            _purge(workspace, result)
    return result


def _settings(workspace: Workspace) -> list[tuple[str, Place, bool]]:
    """Return the settings files of every agent: their scope, their place, and whether that is in the project."""
    found = [pair for agent in adapters() for pair in agent.places(setup_of(workspace)).items()]
    return [(scope, place, workspace.root in place.path.parents) for scope, place in found]


def _calls_us(place: Place) -> bool:
    try:
        return bool(place.format.found_in(install.read(place)))
    except Refused:  # an unreadable file has no working hooks
        return False


def _check_store(workspace: Workspace) -> None:
    if not workspace.place.exists():
        hint = "`holdfast uninit` removes Holdfast's hooks from an agent's settings"
        raise NotFound("There is no Holdfast store here", [("looked at", workspace.place)], [hint])
    if workspace.exists:
        workspace.check_ours()


def _purge(workspace: Workspace, result: Uninstalled) -> None:
    """Delete the refs, the packs that only checkpoints needed, and the store with its id last."""
    claim = workspace.user_directory("state") / "stores" / ids.file_name(known_projects.store_id(workspace.place))
    shadow = Shadow(workspace.place, workspace.root, workspace.worktree)
    workspace.close()
    if shadow.repository.common is not None and not shadow.never_kept_any():
        result.packs = _clean_repository(workspace, shadow, shadow.repository.common)
    for name in sorted(os.listdir(workspace.place), key=lambda name: name == "id"):
        _delete(workspace.place / name)
    os.rmdir(workspace.place)
    files.sync_directory(workspace.place.parent)
    files.remove(claim)
    result.purged = path_text(workspace.place)


def _clean_repository(workspace: Workspace, shadow: Shadow, common: Path) -> int:
    """Remove our refs and packs from the user's repository. Packs that its history needs stay as ordinary ones."""
    shadow.object_store.refuse_links()  # safeguard: linked-place-in-uninit
    shadow.git.prepare()
    for ref in shadow.git.run("for-each-ref", "--format=%(refname)", "refs/holdfast/", home=common).decode().split():
        shadow.git.run("update-ref", "--no-deref", "-d", ref, home=common)
    prune(shadow, workspace.place, workspace.progress)
    left = shadow.object_store.packs()
    for pack in left:
        files.remove(pack.with_suffix(".keep"))
    with contextlib.suppress(OSError):  # missing, or with refs of others
        os.rmdir(common / "refs" / "holdfast")
    return len(left)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        files.remove(path)
