"""Paths in a worktree, as git has them: bytes, with a slash between their parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def is_within(path: bytes, places: Iterable[bytes]) -> bool:
    """Whether a path is one of these, or below one."""
    return any(path == place or path.startswith(place + b"/") for place in places)


def parents(path: bytes) -> Iterator[bytes]:
    """The directories that a path leads through, the nearest first."""
    while path := path.rpartition(b"/")[0]:
        yield path
