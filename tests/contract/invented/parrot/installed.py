"""Parrot's settings files, and detection of its use."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.agents import install
from holdfast.agents.protocol import Place, Setup, Silence, setup_of
from holdfast.core.text import path_text
from holdfast.project.workspace import Workspace

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


def find_silence(workspace: Workspace) -> Silence | None:
    lost = [place for place in places(setup_of(workspace)).values() if install.has_lost(place)]
    return Silence(f"the hooks are gone from {path_text(lost[0].path)}", ["`holdfast init`"]) if lost else None
