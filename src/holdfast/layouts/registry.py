"""The layouts by name. A layout is loaded when one of its members is used."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, cast

from holdfast.core.lifecycle import Rules
from holdfast.layouts import native
from holdfast.system.lazy_adapter import LazyAdapter

if TYPE_CHECKING:
    from holdfast.core.chat_commands import Order
    from holdfast.core.model import Run
    from holdfast.layouts.protocol import Layout
    from holdfast.project.workspace import Workspace

# Each name, and its module or folder here; in the order in which their files are read and written.
FOLDERS = {"native": "native", "faber": "faber", "orchestrator": "orchestrator", "go-team": "goteam"}
NAMES = tuple(FOLDERS)
UNKNOWN = Rules(is_known=False)


@functools.cache
def find_layout(name: str) -> Layout:
    """The layout of that name; a run of one that this version does not know is treated as one of our own."""
    package = f"holdfast.layouts.{FOLDERS.get(name, native.NAME)}"
    members = import_module(package).__dict__.get("MEMBERS")
    return cast("Layout", LazyAdapter(package, members, native) if members else native)


def layouts() -> list[Layout]:
    """All of them."""
    return [find_layout(name) for name in NAMES]


def present(workspace: Workspace) -> list[Layout]:
    """Those with files in the worktree, or with runs that are shown in files."""
    return [layout for layout in layouts() if layout.is_present(workspace)]


def find_chat_run(workspace: Workspace, order: Order) -> Run | None:
    """The run that a command is about, if it means something else there than in a run of our own."""
    found = (layout.find_chat_run(workspace, order) for layout in layouts())
    return next((run for run in found if run is not None), None)


def find_rules(name: str) -> Rules:
    """The rules for runs of the layout of that name."""
    return find_layout(name).RULES if name in FOLDERS else UNKNOWN
