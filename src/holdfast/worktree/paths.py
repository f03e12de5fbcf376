"""Paths in a worktree, as git has them: bytes, with a slash between their parts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.system.safe_paths import real_path

ALWAYS = (b".git", b".holdfast")


def is_within(path: bytes, places: Iterable[bytes]) -> bool:
    """Whether a path is one of these, or below one."""
    return any(path == place or path.startswith(place + b"/") for place in places)


def parents(path: bytes) -> Iterator[bytes]:
    """The directories that a path leads through, the nearest first."""
    while path := path.rpartition(b"/")[0]:
        yield path


# Exclusions


def find_borders(root: Path, places: Iterable[Path | None]) -> tuple[bytes, ...]:
    """Those of the places that lie in the worktree, by their paths in it."""
    found = dict.fromkeys(ALWAYS)
    for place in filter(None, places):
        path = os.path.relpath(place, root)  # no link is on the way to most of them
        if not is_within(os.fsencode(path), found):
            path = os.path.relpath(real_path(place), real_path(root))
            found[os.fsencode(path)] = None
    return tuple(path for path in found if path != b"." and path.split(b"/")[0] != b"..")
