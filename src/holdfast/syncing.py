"""Bringing to the disk what somebody else wrote and did not sync: git leaves its loose objects to the system."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

from holdfast import files

MANY = 64  # files from which on the whole file system is synced at once, which takes as long as some dozens of them


def sync_all(paths: Collection[str]) -> None:
    """Bring files and their names to the disk, up to the directory above that in which they lie."""
    with files.os_errors(next(iter(paths), ".")):
        if len(paths) > MANY and sys.platform == "linux":
            _sync_file_systems({os.path.dirname(os.path.dirname(path)) for path in paths})
            return
        for path in paths:
            _sync(path)
    directories = {os.path.dirname(path) for path in paths}
    for directory in directories | {os.path.dirname(directory) for directory in directories}:
        files.sync_directory(Path(directory))


def _sync(path: str) -> None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:  # git has put it into a pack meanwhile, and packs it does sync
        return
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _sync_file_systems(directories: Collection[str]) -> None:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    for directory in directories:
        file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if library.syncfs(file):
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), directory)
        finally:
            os.close(file)
