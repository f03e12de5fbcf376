"""Disk usage of a store, its quota, and the warning when it is nearly full.

Usage is the size of all files in the store's directory and of our packs in the repository, so measuring it is cheap.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.journal.codec import read_record
from holdfast.project.workspace import Workspace
from holdfast.system import files, locate

MEGABYTE = 1_000_000
WARNED = 0.8  # of the cap
GROWTH = 0.02  # of the cap, before eviction is retried
STAMP = "tidied.json"
PARTS = {
    "journal": "journal",  # with any suffix
    "inbox": "inbox",
    "git": "checkpoints",
    "worktrees": "caches",
    "faces": "copies",
    "aside": "aside",
    "backups": "copies",
}
PACK = (".pack", ".idx", ".rev", ".keep")


class Last(Struct):
    """The last automatic eviction, and the size that it left."""

    time: datetime | None = None
    left: int = 0


def cap_of(workspace: Workspace) -> int:
    return workspace.settings.whole("store.cap") * MEGABYTE


def warning_of(room: Room, cap: int) -> str | None:
    if room.total <= WARNED * cap:
        return None
    share = f"the store takes {room.total / MEGABYTE:,.0f} of {cap / MEGABYTE:,.0f} MB"
    if room.total <= cap:
        return f"{share}; at the cap the oldest tool output is removed first (`holdfast tidy --dry-run`)"
    return f"{share}; the rest is open, named, pinned, not exported or set aside: `holdfast runs --size` shows it"


def has_outgrown(workspace: Workspace, total: int) -> bool:
    """True if the size is over the cap, and has grown since the last eviction."""
    cap = cap_of(workspace)
    return total > cap and total > last_tidied(workspace).left + GROWTH * cap


def last_tidied(workspace: Workspace) -> Last:
    return read_record(workspace.here / STAMP, Last, 4096) or Last()


def note_tidied(workspace: Workspace, last: Last) -> None:
    files.write(workspace.here / STAMP, msgspec.json.encode(last))


class Room(Struct):
    """Bytes on disk, by purpose."""

    total: int = 0
    journal: int = 0  # the database and its log
    checkpoints: int = 0  # our packs
    inbox: int = 0  # calls that wait, or could not be read
    copies: int = 0  # versions of files of other systems, and backups
    aside: int = 0  # damaged originals, replaced stores, files displaced by a restore
    caches: int = 0  # of worktrees
    rest: int = 0

    def add(self, part: str, size: int) -> None:
        self.total += size
        setattr(self, part, getattr(self, part) + size)


def measure_usage(workspace: Workspace) -> Room:
    """Measure the store, with its packs in the repository of the worktree, if there is one."""
    room, place = Room(), workspace.place
    for path, size in _sizes(place):
        top = path.relative_to(place).parts[0]
        is_replaced = top == "backups" and path.name.startswith("replaced-")
        room.add("aside" if is_replaced else PARTS.get(top.partition(".")[0], "rest"), size)
    if not room.journal and workspace.exists and workspace.store.exists():  # it is not a file in this directory
        room.add("journal", workspace.store.size())
    mark = files.read(place / "git" / "keep", 64)
    directory = locate.git_directory(str(workspace.root / ".git")) if mark else None
    packs = Path(locate.common_directory(directory), "objects", "pack") if directory else None
    for keep in packs.glob("pack-*.keep") if packs else ():  # ours and others
        if files.read(keep, 64) == mark:
            room.add("checkpoints", sum(_size(keep.with_suffix(suffix)) for suffix in PACK))
    return room


def bytes_of(path: Path) -> int:
    """Return the size of a file, or of a directory with its content."""
    return sum(size for _, size in _sizes(path)) if path.is_dir() and not path.is_symlink() else _size(path)


def _sizes(directory: Path) -> Iterator[tuple[Path, int]]:
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place, name)
            yield path, _size(path)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # gone meanwhile
        return path.lstat().st_size
    return 0
