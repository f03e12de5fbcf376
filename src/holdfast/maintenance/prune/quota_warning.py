"""How full the store is, and the one line that says so."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.maintenance.disk_usage import Room, room_of
from holdfast.project.workspace import Workspace
from holdfast.system import files

MEGABYTE = 1_000_000
WARNED = 0.8  # of the cap
GROWTH = 0.02  # of the cap, before what could not be helped is tried again
STAMP = "tidied.json"


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
