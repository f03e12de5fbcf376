"""Claude Code's installation and configuration: settings of all levels, plugins, trust, version. Read-only."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from holdfast.agents import install
from holdfast.agents.claude import settings_file
from holdfast.agents.claude.client import MOMENTS
from holdfast.agents.generic_client import text_of
from holdfast.agents.hook_command import files_of
from holdfast.agents.protocol import HookCommand, Moment, NotSettings, Place, Setup, Silence, setup_of
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.formats.json_limits import sparse
from holdfast.core.model import Body, list_of, object_of
from holdfast.core.text import path_text, sound_text
from holdfast.journal.codec import UNREADABLE
from holdfast.project.workspace import Workspace
from holdfast.system import files, locate, process
from holdfast.system.git.command import find_program

SCOPES = ("local", "project", "user")
PLUGIN = "holdfast@"
PLUGIN_HOOKS = "hooks/hooks.json"
OFF = "disableAllHooks"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
CATALOG = ".claude-plugin/marketplace.json"
DEADLINE = 10.0
LIMIT = 64 * 1024 * 1024


def config_directory(environ: Mapping[str, str]) -> Path:
    """Claude Code's directory for the user's settings and data."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"))


def is_used(setup: Setup) -> bool:
    if (setup.root / ".claude").is_dir() or config_directory(setup.environ).is_dir():
        return True
    return find_program("claude", setup.environ.get("PATH", os.defpath), str(setup.root)) is not None


def places(setup: Setup) -> dict[str, Place]:
    return {scope: place_of(scope, setup) for scope in SCOPES}


def place_of(scope: str, setup: Setup) -> Place:
    directory, name, mode = setup.root / ".claude", "settings.local.json", files.PRIVATE_FILE
    border = setup.root
    if scope == "user":
        directory, name = config_directory(setup.environ), "settings.json"
        home = Path(setup.environ.get("HOME") or os.path.expanduser("~"))
        border = home if home in directory.parents else directory
    elif scope == "project":
        name, mode = "settings.json", _common_mode()  # meant to be committed
    return Place(directory / name, border, setup.state, settings_file, mode)


def _common_mode() -> int:
    """The mode of an ordinary file according to the umask."""
    umask = os.umask(0o077)  # readable only by setting it; a file that another thread creates meanwhile is too private
    os.umask(umask)
    return 0o666 & ~umask


class Level:
    """The settings of one level, or the error that prevents reading them."""

    def __init__(self, name: str, place: Place, elsewhere: Path | None = None) -> None:
        self.name = name
        self.path = place.path
        self.elsewhere = elsewhere  # its worktree, if that is another one
        self.settings: dict[str, Any] = {}
        self.trouble: HoldfastError | None = None
        try:
            self.settings = settings_file.parse(install.read(place))
        except HoldfastError as error:
            self.trouble = error

    def is_set(self, switch: str) -> bool:
        return self.settings.get(switch) is True

    def plugins(self, prefix: str = "") -> dict[str, bool]:
        """The plugins with this prefix, mapped to True if this level enables them."""
        enabled = self.settings.get("enabledPlugins")
        found = enabled.items() if isinstance(enabled, dict) else []
        return {name: value is not False for name, value in found if name.startswith(prefix)}


class Plugin(NamedTuple):
    """Our plugin in the client's settings."""

    name: str
    level: Level  # the one that enables it
    directory: Path | None  # None: not installed


def levels(setup: Setup, managed: Path = MANAGED) -> list[Level]:
    """All settings files that apply to a project, in order of precedence.

    In a linked worktree the client also reads the local settings of the main worktree.
    """
    administrator = Place(managed, Path("/"), setup.state, settings_file)
    return [Level("managed", administrator), *(Level(*found) for found in _places_read(setup))]


def _places_read(setup: Setup) -> list[tuple[str, Place, Path | None]]:
    """The settings files that the client reads for a project, by scope; with their worktree, if that is another one."""
    local, *others = [(scope, place_of(scope, setup), None) for scope in SCOPES]
    main = Path(locate.main_worktree(str(setup.root)) or setup.root)
    beside = [("local", place_of("local", setup._replace(root=main)), main)] if main != setup.root else []
    return [local, *beside, *others]


def find_silence(workspace: Workspace) -> Silence | None:
    """Detect hooks that `init` installed and that no longer run."""
    removed = find_removal(workspace)
    if removed is not None:
        return removed
    found = levels(setup_of(workspace))
    if not is_called(found, workspace.environ):
        return None
    return _find_off_switch(found) or _find_lost_program(found, workspace.environ)


def find_removal(workspace: Workspace) -> Silence | None:
    """Detect hooks that were removed from the settings without `uninit`, and that no other settings or plugin have."""
    setup = setup_of(workspace)
    lost = [(scope, place.path) for scope, place, _ in _places_read(setup) if install.has_lost(place)]
    if not lost or is_called(levels(setup), setup.environ):
        return None
    scope, path = lost[0]
    hints = [f"`holdfast init --scope {scope}` restores them", "`holdfast uninit` confirms the removal"]
    return Silence(f"the hooks were removed from {path_text(path)} (perhaps by `git clean -fdx`)", hints)


def _find_off_switch(found: list[Level]) -> Silence | None:
    """Detect the setting that turns off all hooks, including ours."""
    switch = find_switch(found)
    if switch is None:
        return None
    place = path_text(switch.path)
    return Silence(f"`{OFF}` in {place} turns all hooks off", [f"remove `{OFF}` from {place}"])


def _find_lost_program(found: list[Level], environ: Mapping[str, str]) -> Silence | None:
    """Detect hooks whose interpreter or script is gone, as after a move of its virtual environment.

    A hook is silent without them, so only this line tells that nothing is recorded.
    """
    if find_plugin(found, environ) is not None:
        return None
    lost: list[tuple[Level, str]] = []
    for level in found:
        for handler in chain.from_iterable(settings_file.called(level.settings).values()):
            python, scripts = files_of(handler) or ("", [])
            exact = filter(os.path.isabs, (python, *scripts))
            gone = next((name for name in exact if not os.path.exists(name)), None)
            if gone is None:  # a hook that runs, or that the client finds through PATH
                return None
            lost.append((level, gone))
    level, gone = lost[0]
    about = f"the hooks in {path_text(level.path)} need {sound_text(gone)}, which no longer exists"
    return Silence(about, [f"`{init_command(level)}` installs them again"])


def init_command(level: Level) -> str:
    """The command that installs our hooks into the settings of a level, or replaces them."""
    there = f"cd {shlex.quote(path_text(level.elsewhere))} && " if level.elsewhere else ""
    return f"{there}holdfast init --scope {level.name}"


def find_switch(found: list[Level]) -> Level | None:
    """The level that turns off all hooks: the first one with that setting decides."""
    said = next((level for level in found if OFF in level.settings), None)
    return said if said is not None and said.is_set(OFF) else None


def hook_commands(setup: Setup) -> list[HookCommand]:
    """All commands that the client runs as hooks in this project, from settings and from plugins."""
    found_levels = levels(setup)
    found = [
        HookCommand(level.name, path_text(level.path), moment, command, level.elsewhere is None)
        for level in found_levels
        for moment, command in _commands(level.settings)
    ]
    said = {name: value for level in reversed(found_levels) for name, value in level.plugins().items()}
    for name, is_on in said.items():
        directory = installed_at(name, setup.environ) if is_on else None
        brought = _noted(directory / PLUGIN_HOOKS) if directory is not None else {}
        found += [HookCommand("plugin", name, moment, command, False) for moment, command in _commands(brought)]
    return found


def _commands(settings: dict[str, Any]) -> list[tuple[Moment, str]]:
    try:
        handlers = settings_file.find_handlers(settings, lambda handler: isinstance(handler, dict))
    except (AttributeError, TypeError):  # a plugin's file may have any shape
        return []
    commands = [(event, text_of(handler, "command")) for event, found in handlers.items() for handler in found]
    return [(Moment(MOMENTS.get(event, Moment.OTHER)), command) for event, command in commands if command]


def executable_files(setup: Setup) -> dict[Path, Callable[[bytes], list[tuple[str, str]]]]:
    """The settings in the worktree: our own hooks in them name programs."""
    return {place_of(scope, setup).path: _programs for scope in ("local", "project")}


def _programs(data: bytes) -> list[tuple[str, str]]:
    """The distinct interpreters of our hooks with absolute paths, by event, except the running one."""
    try:
        calls = settings_file.called(settings_file.parse(data.decode()))
    except (NotSettings, ValueError, RecursionError):
        return []
    exact = [(event, named[0]) for event, found in calls.items() for call in found if (named := files_of(call))]
    distinct = dict.fromkeys((event, sound_text(python)) for event, python in exact)
    return [(event, program) for event, program in distinct if program != sys.executable]


def is_called(found: list[Level], environ: Mapping[str, str]) -> bool:
    """True if settings of any level have our hooks or enable our plugin."""
    return any(settings_file.called(level.settings) for level in found) or find_plugin(found, environ) is not None


def find_plugin(found: list[Level], environ: Mapping[str, str]) -> Plugin | None:
    """Our plugin, if it is enabled; the first level that sets it decides."""
    said = {name: (level, value) for level in reversed(found) for name, value in level.plugins(PLUGIN).items()}
    for name, (level, value) in said.items():
        if value:
            return Plugin(name, level, installed_at(name, environ))
    return None


def installed_at(name: str, environ: Mapping[str, str]) -> Path | None:
    """The directory from which the client loads a plugin; None if it is not installed."""
    directory = config_directory(environ) / "plugins"
    copies = list_of(object_of(_noted(directory / "installed_plugins.json").get("plugins")).get(name))
    copy = next(filter(None, (text_of(each, "installPath") for each in copies)), None)
    if copy is None:
        return None
    plugin, _, marketplace = name.partition("@")
    place = object_of(_noted(directory / "known_marketplaces.json").get(marketplace))
    if text_of(place.get("source"), "source") != "directory":
        return Path(copy)
    return _place_in(Path(text_of(place, "installLocation")), plugin, Path(copy))


def _place_in(marketplace: Path, plugin: str, copy: Path) -> Path | None:
    """The directory of a plugin in a marketplace that is a directory; the copy, if the plugin is fetched."""
    catalog = _noted(marketplace / CATALOG)
    entries = [entry for entry in list_of(catalog.get("plugins")) if isinstance(entry, dict)]
    if not entries:  # moved or damaged: the client finds no plugin there either
        return marketplace
    entry = next((entry for entry in entries if entry.get("name") == plugin), None)
    if entry is None:
        return None
    source = entry.get("source")
    if not isinstance(source, str):
        return copy
    root = "" if source.startswith(".") else text_of(catalog.get("metadata"), "pluginRoot")  # for a bare name
    return marketplace / root / source


def _noted(path: Path) -> Body:
    """A JSON file of the client; empty if it is missing or damaged."""
    try:
        return object_of(msgspec.json.decode(sparse(files.read(path, LIMIT) or b"{}")))
    except (*UNREADABLE, Refused):
        return {}


def is_trusted(root: Path, environ: Mapping[str, str]) -> bool | None:
    """True if the user has trusted the folder or a parent of it; None if that is unknown."""
    directory = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME") or os.path.expanduser("~")
    projects = _noted(Path(directory, ".claude.json")).get("projects")
    if not isinstance(projects, dict):
        return None
    return any(
        object_of(projects.get(str(place))).get("hasTrustDialogAccepted") is True for place in (root, *root.parents)
    )


def find_version(root: Path, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The client's program, and the version that it reports."""
    program = find_program("claude", environ.get("PATH", os.defpath), str(root))
    if program is None:
        return None, None
    passed = {name: environ[name] for name in ("PATH", "HOME", "CLAUDE_CONFIG_DIR") if name in environ}
    said = process.ask([program, "--version"], passed, DEADLINE) or ""
    found = re.search(r"\d+\.\d+\.\d+", said[:200])
    return program, found.group() if found else None


def last_written(root: Path, environ: Mapping[str, str]) -> datetime | None:
    """The time of the client's last write to a transcript of this folder."""
    directory = config_directory(environ) / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    try:
        times = [entry.stat().st_mtime for entry in os.scandir(directory) if entry.name.endswith(".jsonl")]
    except OSError:
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None
