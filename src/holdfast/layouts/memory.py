"""Files that show runs to another system: the record of them in the store, names in them, and their removal.

The record says what each file of a worktree held when it was last read or written. It can be lost: then the files are
read as if another program had written them.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.formats.json_limits import sparse
from holdfast.core.ids import hexdigest
from holdfast.core.model import Run
from holdfast.core.text import parse_time, path_text, sound
from holdfast.journal.codec import UNREADABLE
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths
from holdfast.system.shared_files import remove_shared

T = TypeVar("T", bound=Struct)
SHARED = 0o644  # mode of a new file of the project
RESERVED = ("run-", "ses-", "cp-", "ledger-", "-")  # prefixes with another meaning


def own_directory(workspace: Workspace) -> Path:
    """Return the directory of a worktree's records, and create it."""
    place = place_of(workspace)
    for directory in (place.parent, place):
        files.make_private_directory(directory)
    return place


def place_of(workspace: Workspace) -> Path:
    return workspace.here / "worktrees" / ids.file_name(workspace.worktree)


def recall(place: Path, kind: type[T]) -> T:
    """Read a record; an empty one if it is missing or unreadable."""
    try:
        return msgspec.json.decode(sparse(files.read(place) or b"{}"), type=kind)
    except (*UNREADABLE, Refused):
        return kind()


def remember(place: Path, record: Struct) -> None:
    """Write a record, without a sync: a power cut may take it."""
    plain = sound(msgspec.to_builtins(record), small=True)  # other programs write values that JSON does not have
    files.put(place, msgspec.json.encode(plain), synced=False)


def list_runs(journal: Journal, layout: str, worktree: str, limit: int) -> list[Run]:
    """The runs of a layout in a worktree, oldest first."""
    found, _ = journal.list_runs(RunQuery(worktree=worktree, layouts=frozenset({layout}), limit=limit))
    return sorted(found, key=lambda run: (run.created is not None, run.created, run.id))


def each_locked(workspace: Workspace, record: str) -> Iterator[Path]:
    """Yield the records of that name of every worktree, each while its lock is held."""
    for place in (workspace.here / "worktrees").glob(f"*/{record}"):
        # safeguard: lock-team-in-purge
        with files.lock(place.with_suffix(".lock"), workspace.settings.number("store.deadline")):
            yield place


def relative(workspace: Workspace, path: Path) -> str:
    """A path from the root of the worktree, as text."""
    return path_text(path.relative_to(workspace.root))


def digest(data: bytes) -> str:
    return hexdigest("blake2b", data, digest_size=16)


def not_later(value: object, now: datetime) -> datetime | None:
    """A time in a file; None for one in the future, which would be a time of no past event."""
    found = parse_time(value)
    return found if found and found <= now else None


def journal_id(name: str, prefix: str, *, is_safe: bool = True) -> str:
    """The id in the journal of a run of another system: its name, or a hash if the name could mean something else.

    A usable name is a single shell word, so that hints can contain it.
    """
    is_usable = is_safe and not name.startswith(RESERVED) and not name.isdecimal() and len(name) <= 200
    if is_usable and shlex.quote(name) == name:
        return name
    return f"{prefix}-{hexdigest('sha256', name.encode('utf-8', 'surrogatepass'))[:20]}"


def remove_shown(workspace: Workspace, paths: Iterable[str], shows: Callable[[Path], bool]) -> None:
    """Remove the files that still show the run. No link is followed out of the project."""
    for path in paths:
        place = workspace.root / path
        if is_shown(workspace, path, shows) and (data := files.read(place, root=workspace.root)) is not None:
            remove_shared(place, data, workspace.root)


def is_shown(workspace: Workspace, path: str, shows: Callable[[Path], bool]) -> bool:
    """Return whether a file is inside the project and shows the run; an unreadable one does not."""
    with contextlib.suppress(HoldfastError, safe_paths.Outside):
        safe_paths.resolve(workspace.root, path)
        return shows(workspace.root / path)
    return False
