"""Critical artifacts: the files of a project that every brief carries, as far as there is room.

The list may come with the repository. So only regular files inside of it are read, and what they say is quoted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from holdfast.model import Artifact

LIMIT = 100_000  # bytes that are read of one
FORBIDDEN = (".git", ".holdfast")


def read_artifacts(root: Path, paths: Iterable[str]) -> tuple[list[Artifact], list[str]]:
    """The artifacts that can be read, in the order given, and for each of the others why not."""
    found: list[Artifact] = []
    missing: list[str] = []
    for path in dict.fromkeys(paths):
        try:
            found.append(Artifact(path, _read(root, path)))
        except (OSError, ValueError) as error:
            missing.append(f"{path}: {error.strerror if isinstance(error, OSError) else error}")
    return found, missing


def _read(root: Path, path: str) -> str:
    full = os.path.realpath(root / path)
    inside = os.path.relpath(full, os.path.realpath(root)).split(os.sep)
    if inside[0] in (os.pardir, os.curdir, *FORBIDDEN):
        raise ValueError("is not a file of the project")
    descriptor = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("is not a regular file")
        data = file.read(LIMIT)
    if b"\0" in data:
        raise ValueError("is not a text")
    return data.decode("utf-8", "replace")
