"""Claude Code's settings files and directories, and detection of its use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.agents.claude import settings_file
from holdfast.agents.protocol import Place, Setup
from holdfast.system import files
from holdfast.system.git.command import find_program

SCOPES = ("local", "project", "user")


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
