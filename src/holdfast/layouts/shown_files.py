"""Removing files of the project that show a run to another system."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths
from holdfast.system.shared_files import remove_shared


def remove_shown(workspace: Workspace, paths: Iterable[str], shows: Callable[[Path], bool]) -> None:
    """Remove those that still show the run. No link is followed out of the project."""
    for path in paths:
        place = workspace.root / path
        if is_shown(workspace, path, shows) and (data := files.read(place, root=workspace.root)) is not None:
            remove_shared(place, data, workspace.root)


def is_shown(workspace: Workspace, path: str, shows: Callable[[Path], bool]) -> bool:
    """Whether a file is inside the project and shows the run; one that cannot be read does not."""
    with contextlib.suppress(HoldfastError, safe_paths.Outside):
        safe_paths.resolve(workspace.root, path)
        return shows(workspace.root / path)
    return False
