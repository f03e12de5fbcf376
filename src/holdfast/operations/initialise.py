"""Prepare a project, and switch recording off and on."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from holdfast import files, spool
from holdfast.errors import NotFound
from holdfast.text import path_text
from holdfast.workspace import Workspace


class Initialised(Struct):
    directory: str
    store: str
    created: bool
    hook: str  # the program that an agent's hook runs


class Switched(Struct):
    store: str
    off: bool
    changed: bool


def init(workspace: Workspace, *, adopt: bool = False) -> Initialised:
    """Make the store of this project. With `adopt`, believe one that came from elsewhere."""
    with files.os_errors():
        created = workspace.create(adopt)
    return Initialised(
        path_text(workspace.root), path_text(workspace.place), created, str(Path(spool.__file__).with_name("inbox.py"))
    )


def off(workspace: Workspace) -> Switched:
    """Record nothing in this project until `on`."""
    return _switch(workspace, True)


def on(workspace: Workspace) -> Switched:
    """Record again."""
    return _switch(workspace, False)


def _switch(workspace: Workspace, off: bool) -> Switched:
    if not workspace.exists:
        raise NotFound("There is no Holdfast store here", [("looked at", workspace.place)], ['`holdfast start "GOAL"`'])
    workspace.check_ours()
    marker = workspace.place / "off"
    changed = marker.exists() != off
    if changed and off:
        files.write(marker, b"")
    elif changed:
        files.remove(marker)
    return Switched(path_text(workspace.place), off, changed)
