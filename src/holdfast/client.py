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
from typing import Any

import msgspec

from holdfast import files, installing, process
from holdfast.errors import HoldfastError, Refused
from holdfast.git import find_program
from holdfast.packing import UNREADABLE

PLUGIN = "holdfast@"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
DEADLINE = 10.0
LIMIT = 64 * 1024 * 1024


class Level:
    """The settings of one level, or why they cannot be read."""

    def __init__(self, name: str, path: Path, border: Path | None = None) -> None:
        self.name = name
        self.path = path
        self.settings: dict[str, Any] = {}
        self.trouble: HoldfastError | None = None
        try:
            real = installing.Place(path, border, path.parent).resolved() if border else path
            self.settings = installing.read_settings(real)
        except HoldfastError as error:
            self.trouble = error

    def is_set(self, switch: str) -> bool:
        return self.settings.get(switch) is True

    @property
    def has_plugin(self) -> bool:
        enabled = self.settings.get("enabledPlugins")
        return isinstance(enabled, dict) and any(
            name.startswith(PLUGIN) and value is not False for name, value in enabled.items()
        )


def levels(root: Path, environ: Mapping[str, str], state: Path, managed: Path = MANAGED) -> list[Level]:
    """Every settings file that holds for a project, the strongest first."""
    places = {scope: installing.place_of(scope, root, environ, state) for scope in ("local", "project", "user")}
    found = [Level(scope, place.path, place.border) for scope, place in places.items()]
    return [Level("managed", managed), *found]


def is_trusted(root: Path, environ: Mapping[str, str]) -> bool | None:
    """Whether the user has trusted the folder, or one that it lies in; None where nothing is known about it."""
    directory = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME") or os.path.expanduser("~")
    try:
        known = msgspec.json.decode(files.read(Path(directory, ".claude.json"), LIMIT) or b"{}")
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
    directory = installing.config_directory(environ) / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    try:
        times = [entry.stat().st_mtime for entry in os.scandir(directory) if entry.name.endswith(".jsonl")]
    except OSError:
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None
