"""Claude Code as it is set up here: its settings at every level, trust, version, transcripts. Only looked at.

What a repository brings is never run, and nothing that stands in its settings either.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from holdfast.agents.claude import install, settings_file
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.formats.json_limits import sparse
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files, locate, process
from holdfast.system.git.command import find_program

PLUGIN = "holdfast@"
OFF = "disableAllHooks"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
DEADLINE = 10.0
LIMIT = 64 * 1024 * 1024
T = TypeVar("T")


class Level:
    """The settings of one level, or why they cannot be read."""

    def __init__(self, name: str, path: Path, border: Path | None = None, elsewhere: Path | None = None) -> None:
        self.name = name
        self.path = path
        self.elsewhere = elsewhere  # the worktree that it belongs to, where that is not the one looked at
        self.settings: dict[str, Any] = {}
        self.trouble: HoldfastError | None = None
        try:
            real = install.Place(path, border, path.parent).resolved() if border else path
            self.settings = install.read_settings(real)
        except HoldfastError as error:
            self.trouble = error

    def is_set(self, switch: str) -> bool:
        return self.settings.get(switch) is True

    @property
    def plugins(self) -> dict[str, bool]:
        """What it says of our plugin, by the marketplace that it comes from: whether it is enabled."""
        enabled = self.settings.get("enabledPlugins")
        found = enabled.items() if isinstance(enabled, dict) else []
        return {name: value is not False for name, value in found if name.startswith(PLUGIN)}


class Plugin(NamedTuple):
    """Our plugin as the client has it."""

    name: str
    level: Level  # whose settings enable it
    directory: Path | None  # None: it is not installed


class Installation(Struct):
    installPath: str = ""  # a copy, which a marketplace that is a directory does without


class Installations(Struct):
    """The client's own list of plugins; only what we need of it."""

    plugins: dict[str, list[Installation]] = {}


class Source(Struct, frozen=True):
    source: str = ""


class Marketplace(Struct):
    """Where plugins come from, as the client has noted it."""

    source: Source = Source()
    installLocation: str = ""


def levels(root: Path, environ: Mapping[str, str], state: Path, managed: Path = MANAGED) -> list[Level]:
    """Every settings file that holds for a project, the strongest first.

    In a linked worktree the client reads the main one's local settings too, beside the worktree's own.
    """
    places = {scope: install.place_of(scope, root, environ, state) for scope in ("local", "project", "user")}
    local, *found = [Level(scope, place.path, place.border) for scope, place in places.items()]
    beside = [
        Level("local", install.place_of("local", main, environ, state).path, main, main) for main in _main_one(root)
    ]
    return [Level("managed", managed), local, *beside, *found]


def find_lost(root: Path, environ: Mapping[str, str], state: Path) -> tuple[str, Path] | None:
    """The scope and the file that held our calls and hold them no more, where nothing else calls us either."""
    places = [(scope, install.place_of(scope, root, environ, state)) for scope in ("local", "project", "user")]
    places += [("local", install.place_of("local", main, environ, state)) for main in _main_one(root)]
    lost = [(scope, place.path) for scope, place in places if install.has_lost(place)]
    if not lost:
        return None
    return None if is_called(levels(root, environ, state), environ) else lost[0]


def is_called(found: list[Level], environ: Mapping[str, str]) -> bool:
    """Whether settings of any level name our calls, or enable our plugin."""
    return any(settings_file.called(level.settings) for level in found) or find_plugin(found, environ) is not None


def _main_one(root: Path) -> list[Path]:
    main = locate.main_worktree(str(root))
    return [Path(main)] if main else []


def find_plugin(found: list[Level], environ: Mapping[str, str]) -> Plugin | None:
    """Our plugin, if it is enabled; the strongest level that says anything about it decides."""
    said = {name: (level, value) for level in reversed(found) for name, value in level.plugins.items()}
    for name, (level, value) in said.items():
        if value:
            return Plugin(name, level, installed_at(name, environ))
    return None


def installed_at(name: str, environ: Mapping[str, str]) -> Path | None:
    """The directory that the client reads a plugin from; None where it is not installed."""
    directory = install.config_directory(environ) / "plugins"
    known = _noted(directory / "installed_plugins.json", Installations)
    copy = next((each.installPath for each in known.plugins.get(name, []) if each.installPath), None) if known else None
    if copy is None:
        return None
    places = _noted(directory / "known_marketplaces.json", dict[str, Marketplace]) or {}
    place = places.get(name.partition("@")[2])
    return Path(place.installLocation if place and place.source.source == "directory" else copy)


def _noted(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(sparse(files.read(path, LIMIT) or b"{}"), type=kind)
    except (*UNREADABLE, Refused):
        return None


def is_trusted(root: Path, environ: Mapping[str, str]) -> bool | None:
    """Whether the user has trusted the folder, or one that it lies in; None where nothing is known about it."""
    directory = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME") or os.path.expanduser("~")
    try:
        known = msgspec.json.decode(sparse(files.read(Path(directory, ".claude.json"), LIMIT) or b"{}"))
    except (*UNREADABLE, Refused):
        return None
    projects = known.get("projects") if isinstance(known, dict) else None
    if not isinstance(projects, dict):
        return None
    entries = [projects.get(str(place)) for place in (root, *root.parents)]
    return any(isinstance(entry, dict) and entry.get("hasTrustDialogAccepted") is True for entry in entries)


def find_version(root: Path, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Where the client is, and the version it says it has."""
    program = find_program("claude", environ.get("PATH", os.defpath), str(root))
    if program is None:
        return None, None
    passed = {name: environ[name] for name in ("PATH", "HOME", "CLAUDE_CONFIG_DIR") if name in environ}
    said = process.ask([program, "--version"], passed, DEADLINE) or ""
    found = re.search(r"\d+\.\d+\.\d+", said[:200])
    return program, found.group() if found else None


def last_written(root: Path, environ: Mapping[str, str]) -> datetime | None:
    """When the client last wrote a transcript of this folder."""
    directory = install.config_directory(environ) / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    try:
        times = [entry.stat().st_mtime for entry in os.scandir(directory) if entry.name.endswith(".jsonl")]
    except OSError:
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None
