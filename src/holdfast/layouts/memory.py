"""A layout's record of its files as they were last read and written: one of a worktree, in the store.

It can be lost. Then the files are compared with nothing, and read once more.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.formats.json_limits import sparse
from holdfast.journal.codec import UNREADABLE
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths
from holdfast.system.shared_files import remove_shared

T = TypeVar("T", bound=Struct)


def own_directory(workspace: Workspace) -> Path:
    """The directory of a worktree's records, which is made."""
    place = place_of(workspace)
    for directory in (place.parent, place):
        files.make_private_directory(directory)
    return place


def place_of(workspace: Workspace) -> Path:
    return workspace.here / "worktrees" / ids.file_name(workspace.worktree)


def recall(place: Path, kind: type[T]) -> T:
    """The record in a file; an empty one where there is none, or it cannot be understood."""
    try:
        return msgspec.json.decode(sparse(files.read(place) or b"{}"), type=kind)
    except (*UNREADABLE, Refused):
        return kind()


RESERVED = ("run-", "ses-", "cp-", "ledger-", "-")  # prefixes that mean something else


def is_usable(id: str) -> bool:
    """Whether an id is a single shell word, which hints can name, and is not of another kind."""
    return not id.startswith(RESERVED) and not id.isdecimal() and len(id) <= 200 and shlex.quote(id) == id


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
