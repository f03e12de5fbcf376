"""Paths and file states in a worktree, and the metadata that git's trees lack.

Paths are bytes with slashes, as in git.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from holdfast.system.git.repository import BLOB, Entry, Format
from holdfast.system.safe_paths import real_path

FILE, EXECUTABLE, LINK, MODULE = 0o100644, 0o100755, 0o120000, 0o160000  # modes of git's tree entries
ALWAYS = (b".git", b".holdfast")
ORDINARY = {0o100: 0o755, 0: 0o644}
TEMPORARY = b".holdfast-restore-"  # prefix of a file that a restore is about to rename; 12 hexadecimal digits follow
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# Paths


def is_within(path: bytes, places: Iterable[bytes]) -> bool:
    """Check whether a path is one of these, or below one."""
    return any(path == place or path.startswith(place + b"/") for place in places)


def parents(path: bytes) -> Iterator[bytes]:
    """Yield the directories above a path, innermost first."""
    while path := path.rpartition(b"/")[0]:
        yield path


def zjoin(paths: Iterable[bytes]) -> bytes:
    """Join paths to the NUL-terminated list that git reads with `-z`."""
    return b"".join(path + b"\0" for path in paths)


def find_borders(root: Path, places: Iterable[Path | None]) -> tuple[bytes, ...]:
    """Return the excluded paths: `ALWAYS`, and those of the places that are inside the worktree."""
    found = dict.fromkeys(ALWAYS)
    for place in filter(None, places):
        path = os.path.relpath(place, root)  # resolving links is needed only if this does not match
        if not is_within(os.fsencode(path), found):
            path = os.path.relpath(real_path(place), real_path(root))
            found[os.fsencode(path)] = None
    return tuple(path for path in found if path != b"." and path.split(b"/")[0] != b"..")


def is_temporary(path: bytes) -> bool:
    """Check whether this is a temporary file that a killed restore left in the worktree."""
    _, found, digits = path.rpartition(TEMPORARY)
    return len(digits) == 12 and found != b"" and path[-31:-30] in (b"", b"/") and not digits.strip(b"0123456789abcdef")


# Metadata of a tree


class TreeMetadata(Struct):
    """Metadata that a git tree cannot hold, encoded as NUL-terminated lines, as a path may hold a newline."""

    modes: dict[bytes, int] = {}  # permission bits that differ from git's 644 and 755
    empty: list[bytes] = []  # empty directories
    links: dict[bytes, str] = {}  # nested repository -> its commit
    skipped: dict[bytes, int] = {}  # files that were too large -> size

    def note_mode(self, path: bytes, mode: int) -> None:
        bits = stat.S_IMODE(mode)
        if stat.S_ISREG(mode) and bits != ORDINARY[bits & 0o100]:
            self.modes[path] = bits
        else:
            self.modes.pop(path, None)

    def mode_of(self, path: bytes, executable: bool) -> int:
        return self.modes.get(path, ORDINARY[0o100 if executable else 0])

    def encode(self) -> bytes:
        lines = [b"mode %o %s" % (mode, path) for path, mode in sorted(self.modes.items())]
        lines += [b"empty %s" % path for path in sorted(self.empty)]
        lines += [b"link %s %s" % (commit.encode() or b"-", path) for path, commit in sorted(self.links.items())]
        lines += [b"skipped %d %s" % (size, path) for path, size in sorted(self.skipped.items())]
        return zjoin(lines)

    @classmethod
    def decode(cls, data: bytes) -> TreeMetadata:
        found = cls({}, [], {}, {})
        at = 0
        while (end := data.find(b"\0", at)) >= 0:  # a list of a million short lines would take many times their size
            kind, _, rest = data[at:end].partition(b" ")
            at = end + 1
            value, _, path = rest.partition(b" ")
            if kind == b"mode":
                found.modes[path] = int(value, 8) & 0o7777
            elif kind == b"empty":
                found.empty.append(rest)
            elif kind == b"link":
                found.links[path] = value.decode("ascii", "replace").strip("-")
            elif kind == b"skipped":
                found.skipped[path] = int(value)
        return found


# File states


class Seen(Struct, array_like=True):
    """State of a path when it was stored; a file that differs in it is read again."""

    mode: int
    id: str
    look: tuple[int, int, int, int, int] | None  # None: it may have changed within one tick of the clock


def look_of(status: os.stat_result) -> tuple[int, int, int, int, int]:
    """Return the fields that change with a file's content or permissions."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode, status.st_ino


class Kept(NamedTuple):
    """Content of a path that is in a checkpoint, so that a file that still has it may be overwritten."""

    entry: Entry
    mode: int
    seen: Seen | None
    form: Format

    def stands_at(self, place: bytes, status: os.stat_result) -> bool:
        """Compare with the file or link on disk; it is read only if its state differs from the one when stored."""
        look = self.seen.look if self.seen and self.seen.id == self.entry.id else None
        if look == look_of(status):
            return True
        if stat.S_ISLNK(status.st_mode) != (self.entry.mode == LINK) or (look and look[0] != status.st_size):
            return False
        if self.entry.mode != LINK and stat.S_IMODE(status.st_mode) != self.mode:
            return False
        data = _content(place, status)
        return data is not None and self.form.id_of(BLOB, data) == self.entry.id


def kept_at(
    path: bytes, entry: Entry | None, beside: TreeMetadata, seen: Mapping[bytes, Seen | None], form: Format
) -> Kept | None:
    if entry is None or entry.is_tree:
        return None
    return Kept(entry, beside.mode_of(path, entry.mode == EXECUTABLE), seen.get(path), form)


def _content(place: bytes, status: os.stat_result) -> bytes | None:
    """Read a file or link; None if that fails or it is something else."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(place)
        with open(os.open(place, READING), "rb", buffering=0) as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None
