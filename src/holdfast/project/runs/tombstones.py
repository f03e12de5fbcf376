"""What has left the store: up to which event a run was exported, and which conversations had a run that was deleted.

One small file each, so that nobody has to wait for anybody. A conversation's name is only kept as a digest.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.formats.json_limits import sparse
from holdfast.core.ids import hexdigest
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files

EXPORTED, DELETED = "exported", "deleted"
PLAN = ".json"  # how the name of a file in `deleted` ends that is about a run
PURGING = "purging"  # the file that says which run is being purged


class Exported(NamedTuple):
    """The last event of a run that is in an export. A backup that is put back can give its number to another one."""

    seq: int
    event: str  # its id
    run: str


def note_exported(place: Path, told: Exported) -> None:
    """Remember that all of a run up to this event is in a file somewhere."""
    _put(place / EXPORTED, ids.file_name(told.run), f"{told.seq} {told.event} {told.run}\n".encode())


def find_exported(place: Path, run: str) -> Exported | None:
    """Up to where a run was exported; None where it was not."""
    told = read_exported(place / EXPORTED / ids.file_name(run))
    return told if told is not None and told.run == run else None


def list_exported(place: Path) -> list[str]:
    """The runs that were exported."""
    try:
        names = sorted(os.listdir(place / EXPORTED))
    except FileNotFoundError:
        return []
    return [told.run for name in names if (told := read_exported(place / EXPORTED / name))]


def read_exported(path: Path) -> Exported | None:
    """What a mark says; None where it says nothing that can be understood."""
    match (files.read(path, 4096) or b"").decode("utf-8", "replace").strip().split(" ", 2):
        case [seq, event, run] if seq.isdecimal() and len(seq) < 16:
            return Exported(int(seq), event, run)
    return None


def note_deleted(place: Path, run: str, conversations: set[str], plan: bytes | None = None) -> None:
    """Remember that the run of these conversations was deleted; with a plan, also how it could still be purged."""
    if plan is not None:
        _put(place / DELETED, ids.file_name(run) + PLAN, plan)
    for conversation in sorted(conversations):
        _put(place / DELETED, _digest(conversation), b"")
    files.remove(place / EXPORTED / ids.file_name(run))


def list_plans(place: Path) -> list[bytes]:
    """How runs that were deleted could still be purged."""
    return [files.read(path) or b"" for path in sorted((place / DELETED).glob(f"*{PLAN}"))]


def forget_plan(place: Path, run: str) -> None:
    if (place / DELETED).is_dir():
        files.remove(place / DELETED / (ids.file_name(run) + PLAN))


def was_deleted(place: Path, conversation: str) -> bool:
    """Whether the run of a conversation was deleted."""
    return os.path.exists(place / DELETED / _digest(conversation))


def forget_deleted(place: Path, but: Collection[str], conversations: Iterable[str]) -> None:
    """These conversations have a run again, so that they were not deleted; but for the marks of some names."""
    if (place / DELETED).is_dir():
        for name in {_digest(conversation) for conversation in conversations}.difference(but):
            files.remove(place / DELETED / name)


def unfinished_purge(place: Path) -> str | None:
    """What is said where somebody looks while a purge is unfinished."""
    if not os.path.exists(place / PURGING):
        return None
    try:
        found = msgspec.json.decode(sparse(files.read(place / PURGING) or b""), type=dict[str, Any]).get("run")
    except (*UNREADABLE, Refused):
        found = None
    name = found if isinstance(found, str) and ids.is_safe(found) else "RUN"
    return f"Purging {name} is not finished: `holdfast delete {name} --purge --yes` finishes it"


def _put(directory: Path, name: str, data: bytes) -> None:
    files.make_private_directory(directory)
    files.write(directory / name, data)


def _digest(conversation: str) -> str:
    return hexdigest("sha256", conversation.encode("utf-8", "surrogatepass"))
