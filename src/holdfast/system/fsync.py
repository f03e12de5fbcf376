"""Bringing files to the disk that are written already: restored ones, and what git wrote and did not sync."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from holdfast.system import files

MANY = 64  # files from which on the whole file system is synced at once, which takes as long as some dozens of them


def sync(path: bytes | str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(directory: bytes | str) -> None:
    """Bring all to the disk that is written on the file system of a directory."""
    import ctypes  # takes longer to load than a few files take to be written

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "syncfs"):
        os.sync()
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if library.syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fsdecode(directory))
    finally:
        os.close(descriptor)


def sync_objects(paths: Collection[str]) -> None:
    """Bring loose objects of git's to the disk, with their names and those of their directories."""
    shelves = {os.path.dirname(path) for path in paths}
    places = {os.path.dirname(shelf) for shelf in shelves}
    with files.os_errors(next(iter(paths), None)):
        if len(paths) > MANY:
            for place in places:
                sync_file_system(place)
            return
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # git has put it into a pack meanwhile, and packs it does sync
                sync(path)
    for directory in shelves | places:
        files.sync_directory(Path(directory))
