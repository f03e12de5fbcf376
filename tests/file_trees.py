"""Looking at a whole tree, to see that nothing in it has changed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

Tree = dict[str, tuple[int, str]]


def tree_of(*roots: Path, without: Path | None = None) -> Tree:
    """Every path below these with its mode and what it holds, except what lies in `without`."""
    found: Tree = {}
    for root in roots:
        for directory, names, files in os.walk(root):
            if without is not None and Path(directory) == without:
                names.clear()
                continue
            for name in (*names, *files):
                path = os.path.join(directory, name)
                found[path] = _look(path)
    if without is not None:
        found.pop(str(without), None)
    return found


def _look(path: str) -> tuple[int, str]:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return status.st_mode, os.readlink(path)
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            return status.st_mode, hashlib.sha256(file.read()).hexdigest()
    return status.st_mode, ""
