"""Where the user's own directories are."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def user_directory(kind: str, environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own directory for `config` or `state`."""
    override = environ.get(f"HOLDFAST_{kind.upper()}_DIR")
    if override:
        return Path(override)
    if sys.platform == "linux":  # the library would say the same, at 6 ms a command
        variable, home = {"config": ("XDG_CONFIG_HOME", ".config"), "state": ("XDG_STATE_HOME", ".local/state")}[kind]
        base = os.environ.get(variable, "")
        return (Path(base) if os.path.isabs(base) else Path.home() / home) / "holdfast"
    import platformdirs

    directories = {"config": platformdirs.user_config_path, "state": platformdirs.user_state_path}
    return directories[kind]("holdfast", appauthor=False)


def own_directory() -> Path:
    """Where lies what nobody but the user may decide: no variable moves it that a project's settings could bring."""
    home = Path.home()
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "holdfast"
