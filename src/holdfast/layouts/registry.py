"""The layouts by name. A layout is loaded when one of its members is used."""

from __future__ import annotations

import functools
import os
from importlib import import_module
from typing import TYPE_CHECKING, cast

from holdfast.core.lifecycle import Rules
from holdfast.layouts.protocol import NATIVE
from holdfast.system.lazy_adapter import LazyAdapter

if TYPE_CHECKING:
    from holdfast.core.chat_commands import Order
    from holdfast.core.model import Run
    from holdfast.layouts.protocol import Layout
    from holdfast.project.workspace import Workspace

# Each name and its folder here, in the order in which their files are read and written.
FOLDERS = {"faber": "faber", "orchestrator": "orchestrator", "go-team": "goteam"}
NAMES = (NATIVE.NAME, *FOLDERS)
UNKNOWN = Rules(is_known=False)


@functools.cache
def find_layout(name: str) -> Layout:
    """The layout of that name; a run of an unknown one is treated as one of our own."""
    if name not in FOLDERS:
        return NATIVE
    package = f"holdfast.layouts.{FOLDERS[name]}"
    return cast("Layout", LazyAdapter(package, import_module(package).MEMBERS, NATIVE))


def layouts() -> list[Layout]:
    return [NATIVE, *map(find_layout, FOLDERS)]


def present(workspace: Workspace) -> list[Layout]:
    """The layouts with files in the worktree, or with runs that are shown in files."""
    return [layout for layout in layouts() if is_present(workspace, layout)]


def is_present(workspace: Workspace, layout: Layout) -> bool:
    """Return whether a worktree has files of a layout, or a record of them. Every command runs this, so it is quick."""
    if layout.RECORD and os.path.exists(f"{workspace.worktree_place}/{layout.RECORD}"):
        return True
    below = f"{workspace.settings.text(layout.ROOT_SETTING)}/" if layout.ROOT_SETTING else ""
    return bool(layout.SIGN) and os.path.exists(f"{workspace.root}/{below}{layout.SIGN}")


def has_sessions(root: str) -> bool:
    """Return whether hooks may load and close sessions of a layout in a worktree. It needs no store."""
    return any(layout.HAS_SESSIONS and os.path.exists(f"{root}/{layout.SIGN}") for layout in layouts())


def find_chat_run(workspace: Workspace, order: Order) -> Run | None:
    """The run that a chat command is about, if the command differs in the run's layout."""
    found = (layout.find_chat_run(workspace, order) for layout in layouts())
    return next((run for run in found if run is not None), None)


def find_rules(name: str) -> Rules:
    return find_layout(name).RULES if name == NATIVE.NAME or name in FOLDERS else UNKNOWN
