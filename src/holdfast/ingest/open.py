"""Open a project with the agents and layouts that are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from holdfast.agents import registry as agents
from holdfast.core import ids
from holdfast.layouts import registry as layouts
from holdfast.project.workspace import Progress, Workspace, locate_project, silent
from holdfast.system.clock import Clock


def open_workspace(
    directory: str | os.PathLike[str] = ".",
    *,
    clock: Clock | None = None,
    chance: Callable[[], str] = ids.make_mark,
    environ: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Workspace:
    """The workspace of a directory: that of its repository, or of a project without one."""
    return Workspace(
        *locate_project(directory),
        clock=clock,
        chance=chance,
        environ=environ,
        progress=progress,
        clients=agents,
        rules_of=layouts.find_rules,
    )
