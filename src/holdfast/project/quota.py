"""The room that a store takes on the disk, its cap, and the warning where it is nearly full.

Told by the sizes of files alone, so that asking is cheap: every file of the store's directory, and our packs beside the
repository's. What lies in the user's own directories is not a store's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.project.workspace import Workspace
from holdfast.system import files, locate

MEGABYTE = 1_000_000
WARNED = 0.8  # of the cap
GROWTH = 0.02  # of the cap, before what could not be helped is tried again
STAMP = "tidied.json"
PARTS = {
    "journal": "journal",  # and whatever follows behind a dot
    "inbox": "inbox",
    "git": "checkpoints",
    "worktrees": "caches",
    "faces": "copies",
    "aside": "aside",
    "backups": "copies",
}
PACK = (".pack", ".idx", ".rev", ".keep")


class Last(Struct):
    """When the store was last tidied without being asked, and what it took afterwards."""

    time: datetime | None = None
    left: int = 0


def look_at_room(workspace: Workspace) -> Room:
    """What the store takes now."""
    return room_of(workspace.place, workspace.root)


def cap_of(workspace: Workspace) -> int:
    return workspace.settings.whole("store.cap") * MEGABYTE


def warning_of(room: Room, cap: int) -> str | None:
    """One line, where the store is nearly full."""
    if room.total <= WARNED * cap:
        return None
    share = f"the store takes {room.total / MEGABYTE:,.0f} of {cap / MEGABYTE:,.0f} MB"
    if room.total <= cap:
        return f"{share}; at the cap the oldest tool output goes first (`holdfast tidy --dry-run`)"
    return f"{share}; what is left is open, named, pinned, not exported or kept aside: `holdfast runs --size` shows it"


def has_outgrown(workspace: Workspace, total: int) -> bool:
    """Whether so many bytes are too many, and more than the last tidying had to leave."""
    cap = cap_of(workspace)
    return total > cap and total > last_tidied(workspace).left + GROWTH * cap


def last_tidied(workspace: Workspace) -> Last:
    try:
        return msgspec.json.decode(files.read(workspace.here / STAMP, 4096) or b"{}", type=Last)
    except (msgspec.MsgspecError, UnicodeDecodeError, HoldfastError):  # it is only there to save work
        return Last()


def note_tidied(workspace: Workspace, last: Last) -> None:
    files.write(workspace.here / STAMP, msgspec.json.encode(last))


# Disk usage


class Room(Struct):
    """Bytes on the disk, and what they are for."""

    total: int = 0
    journal: int = 0  # the database and its log
    checkpoints: int = 0  # our packs
    inbox: int = 0  # calls that were not taken in yet, or could not be read
    copies: int = 0  # versions of files of other systems, and backups
    aside: int = 0  # damaged originals, stores that a backup replaced, what stood in the way of a restore
    caches: int = 0  # what is remembered of worktrees
    rest: int = 0

    def add(self, part: str, size: int) -> None:
        self.total += size
        setattr(self, part, getattr(self, part) + size)


def room_of(place: Path, root: Path) -> Room:
    """What a store takes, with its packs in the repository of a worktree, if there is one."""
    room = Room()
    for path, size in _sizes(place):
        room.add(_part(path.relative_to(place)), size)
    mark = files.read(place / "git" / "keep", 64)
    for keep in _kept(root) if mark else ():
        if files.read(keep, 64) == mark:
            room.add("checkpoints", sum(_size(keep.with_suffix(suffix)) for suffix in PACK))
    return room


def bytes_of(path: Path) -> int:
    """What a file takes, or a directory with all that is in it."""
    return sum(size for _, size in _sizes(path)) if path.is_dir() and not path.is_symlink() else _size(path)


def _part(path: Path) -> str:
    is_replaced = path.parts[0] == "backups" and path.name.startswith("replaced-")
    return "aside" if is_replaced else PARTS.get(path.parts[0].partition(".")[0], "rest")


def _kept(root: Path) -> Iterator[Path]:
    """The marks of packs in the repository that git's housekeeping leaves alone; ours are among them."""
    directory = locate.git_directory(str(root / ".git"))
    if directory:
        yield from Path(locate.common_directory(directory), "objects", "pack").glob("pack-*.keep")


def _sizes(directory: Path) -> Iterator[tuple[Path, int]]:
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place, name)
            yield path, _size(path)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # gone meanwhile
        return path.lstat().st_size
    return 0
