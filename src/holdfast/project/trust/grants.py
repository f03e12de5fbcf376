"""What the user has allowed: one grant for each file, in his own directory, which nothing in a repository can reach.

A grant holds for the very bytes that were seen, at their real path in this project, together with the files that they
name. It is worth nothing where somebody else could have written it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.text import path_text
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files
from holdfast.system.safe_paths import real_path

LIMIT = 1024 * 1024


class Grant(Struct):
    """That the user has seen a file and allowed what it brings."""

    root: str  # of the project
    path: str
    digest: str  # of the file, of all files that its commands name, and of why others never run
    time: datetime
    commands: list[str] = []  # that may run


class Grants:
    """All grants of this user."""

    def __init__(self, directory: Path, borders: Iterable[Path]) -> None:
        """`borders` are directories that a repository fills: what lies inside of them is nobody's word."""
        self.directory = directory
        self._borders = [real_path(border) for border in borders]

    def find(self, root: str, path: str) -> Grant | None:
        found = self._load(self._place(root, path))
        # safeguard: grant-of-another-file
        return found if found is not None and (found.root, found.path) == (root, path) else None

    def put(self, grant: Grant) -> None:
        if not self._is_safe():
            self._refuse()
        files.make_private_directory(self.directory.parent)
        files.make_private_directory(self.directory)
        files.write(self._place(grant.root, grant.path), msgspec.json.encode(grant), files.PRIVATE_FILE)

    def remove(self, grant: Grant) -> None:
        files.remove(self._place(grant.root, grant.path))

    def every(self) -> list[Grant]:
        """All of them, by path."""
        names = sorted(os.listdir(self.directory)) if self.directory.is_dir() else []
        found = [self._load(self.directory / name) for name in names if not name.startswith(".")]
        return sorted((grant for grant in found if grant is not None), key=lambda grant: (grant.root, grant.path))

    def _place(self, root: str, path: str) -> Path:
        return self.directory / digest([root.encode(), path.encode()])

    def _load(self, path: Path) -> Grant | None:
        with contextlib.suppress(OSError, HoldfastError, *UNREADABLE):
            status = os.lstat(path)
            files.check_private(self.directory)
            # safeguard: grant-mode
            is_ours = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
            if is_ours and self._is_safe():  # safeguard: grant-place
                return msgspec.json.decode(files.read(path, LIMIT) or b"", type=Grant)
        return None

    def _is_safe(self) -> bool:
        """Whether no repository could have brought the directory, by a link or by a variable that moves it."""
        real = real_path(self.directory)
        return not any(real == border or real.startswith(border.rstrip(os.sep) + os.sep) for border in self._borders)

    def _refuse(self) -> None:
        raise Refused(
            "Trust is not kept inside of the project that asks for it",
            [("directory", path_text(self.directory))],
            ["set HOME to your own home directory"],
        )


def digest(parts: Iterable[bytes]) -> str:
    """One number for several parts, which no other division into parts has."""
    found = sha256()
    for part in parts:
        found.update(len(part).to_bytes(8) + part)
    return found.hexdigest()
