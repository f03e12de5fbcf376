"""What a state of the worktree holds at a path, and whether that is what stands there now.

Between the look and the writing somebody may save a file: what is not in a checkpoint any more must not be overwritten.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import NamedTuple

from holdfast.system.git.objects import BLOB, Entry, Format
from holdfast.worktree.metadata import Beside
from holdfast.worktree.scan import EXECUTABLE, LINK, Seen, look_of

READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NOTHING_SEEN: Mapping[bytes, Seen | None] = {}


class Kept(NamedTuple):
    entry: Entry
    mode: int
    seen: Seen | None
    form: Format

    def stands_at(self, place: bytes, status: os.stat_result) -> bool:
        """Whether this file or link is there. It is read only where it does not look as it did when it was stored."""
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
    path: bytes, entry: Entry | None, beside: Beside, seen: Mapping[bytes, Seen | None], form: Format
) -> Kept | None:
    if entry is None or entry.is_tree:
        return None
    return Kept(entry, beside.mode_of(path, entry.mode == EXECUTABLE), seen.get(path), form)


def _content(place: bytes, status: os.stat_result) -> bytes | None:
    """What a file or link holds; None where nobody can say."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(place)
        with open(os.open(place, READING), "rb", buffering=0) as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None
