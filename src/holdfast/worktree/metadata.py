"""What git's trees do not know, kept beside a tree: other permission bits, empty directories, nested repositories.

It is stored as one blob of lines that end with a NUL byte, because a path may hold anything else.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator

from msgspec import Struct

ORDINARY = {0o100: 0o755, 0: 0o644}
TEMPORARY = b".holdfast-restore-"  # then twelve hexadecimal digits: a file that a restore is about to rename


class Beside(Struct):
    modes: dict[bytes, int] = {}  # only where they differ from the ordinary ones
    empty: list[bytes] = []
    links: dict[bytes, str] = {}  # nested repository -> its commit
    skipped: dict[bytes, int] = {}  # what was too large -> its size

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
        return b"".join(line + b"\0" for line in lines)

    @classmethod
    def decode(cls, data: bytes) -> Beside:
        found = cls({}, [], {}, {})
        for line in _lines(data):
            kind, _, rest = line.partition(b" ")
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


def _lines(data: bytes) -> Iterator[bytes]:
    """One after the other: all at once, a million short ones would take many times their size."""
    at = 0
    while (end := data.find(b"\0", at)) >= 0:
        yield data[at:end]
        at = end + 1


def is_temporary(path: bytes) -> bool:
    """Whether this is a file of ours that a killed restore left in the worktree."""
    _, found, digits = path.rpartition(TEMPORARY)
    return len(digits) == 12 and found != b"" and path[-31:-30] in (b"", b"/") and not digits.strip(b"0123456789abcdef")
