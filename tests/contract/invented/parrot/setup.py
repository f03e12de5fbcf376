"""Locations of Parrot's settings files."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.agents.protocol import Place, Setup

from . import settings_file

SCOPES = ("here", "everywhere")


def home(setup: Setup) -> Path:
    return Path(setup.environ.get("HOME") or os.path.expanduser("~"))


def is_used(setup: Setup) -> bool:
    return (setup.root / ".parrot").is_dir()


def places(setup: Setup) -> dict[str, Place]:
    roots = dict(zip(SCOPES, (setup.root, home(setup)), strict=True))
    return {
        scope: Place(root / ".parrot" / "hooks.toml", root, setup.state, settings_file) for scope, root in roots.items()
    }
