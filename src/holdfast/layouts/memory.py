"""A layout's record of its files as they were last read and written: one of a worktree, in the store.

It can be lost. Then the files are compared with nothing, and read once more.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.formats.json_limits import sparse
from holdfast.journal.codec import UNREADABLE
from holdfast.project.workspace import Workspace
from holdfast.system import files

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
