"""Tombstones: the last exported event of each run, and the conversations whose run was deleted.

Each is a small file, so that no lock is needed. Of a conversation's name only the digest is stored.
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
from holdfast.journal.journal import Journal
from holdfast.system import files

EXPORTED, DELETED = "exported", "deleted"
PLAN = ".json"  # suffix of the files in `deleted` that are about a run
PURGING = "purging"  # the file that names the run being purged


class Exported(NamedTuple):
    """The last exported event of a run. After a restored backup, another event can have its number."""

    seq: int
    event: str  # its id
    run: str


def note_exported(place: Path, told: Exported) -> None:
    _put(place / EXPORTED, ids.file_name(told.run), f"{told.seq} {told.event} {told.run}\n".encode())


def find_exported(place: Path, run: str) -> Exported | None:
    told = read_exported(place / EXPORTED / ids.file_name(run))
    return told if told is not None and told.run == run else None


def list_exported(place: Path) -> list[str]:
    return [told.run for path in files.listed(place / EXPORTED) if (told := read_exported(path))]


def read_exported(path: Path) -> Exported | None:
    """Parse a file in `exported`; None if it is invalid."""
    match (files.read(path, 4096) or b"").decode("utf-8", "replace").strip().split(" ", 2):
        case [seq, event, run] if seq.isdecimal() and len(seq) < 16:
            return Exported(int(seq), event, run)
    return None


def is_current(told: Exported, journal: Journal) -> bool:
    """Check whether the run still has the very event that was exported last."""
    rows = journal.view.events(told.run, after=told.seq - 1, until=told.seq)
    return any(row.id.hex() == told.event for row in rows)


def note_deleted(place: Path, run: str, conversations: set[str], plan: bytes | None = None) -> None:
    """Record that the run of these conversations was deleted; the plan is for a later purge."""
    if plan is not None:
        _put(place / DELETED, ids.file_name(run) + PLAN, plan)
    for conversation in sorted(conversations):
        _put(place / DELETED, _digest(conversation), b"")
    files.remove(place / EXPORTED / ids.file_name(run))


def list_plans(place: Path) -> list[bytes]:
    return [files.read(path) or b"" for path in sorted((place / DELETED).glob(f"*{PLAN}"))]


def forget_plan(place: Path, run: str) -> None:
    if (place / DELETED).is_dir():
        files.remove(place / DELETED / (ids.file_name(run) + PLAN))


def was_deleted(place: Path, conversation: str) -> bool:
    return os.path.exists(place / DELETED / _digest(conversation))


def forget_deleted(place: Path, but: Collection[str], conversations: Iterable[str]) -> None:
    """Remove the tombstones of conversations that have a run again, except the files `but`."""
    if (place / DELETED).is_dir():
        for name in {_digest(conversation) for conversation in conversations}.difference(but):
            files.remove(place / DELETED / name)


def unfinished_purge(place: Path) -> str | None:
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
