"""Replacing a file of git's as git itself does: a lock beside it, which takes its place by a rename.

Our lock is a second name of a file of ours, so that one that a kill left behind is known to be ours.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path

from holdfast.core.errors import Busy
from holdfast.core.text import path_text
from holdfast.system import files

NO_SECOND_NAMES = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # as on exFAT
MODE = 0o644


def replace(path: Path, data: bytes, made: Path, who: str, patience: float) -> None:
    """Give a file of git's this content; on disk when this returns. `made` is where ours is written first.

    However it ends, but for a kill, no lock stays behind: git would wait for us.
    """
    lock = path.with_name(path.name + ".lock")
    _clear(made, lock)
    files.put(made, data, MODE)  # safeguard: sync-own-ref
    try:
        _take(made, lock, who, patience)
        os.rename(lock, path)
    except BaseException:
        _clear(made, lock)  # safeguard: release-index-lock
        raise
    os.unlink(made)
    files.sync_directory(path.parent)  # safeguard: sync-ref-name


def _clear(made: Path, lock: Path) -> None:
    """Take away what a kill of ours left. A lock is ours if it is a second name of our file; git may hold any other."""
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.lstat(made), os.lstat(lock)):  # safeguard: foreign-ref-lock
            os.unlink(lock)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(made)


def _take(made: Path, lock: Path, who: str, patience: float) -> None:
    """Take git's lock: a second name of our file, which holds what will stand in its place."""
    end = time.monotonic() + patience
    while True:
        try:
            _give_second_name(made, lock)
            return
        except FileExistsError:
            if time.monotonic() > end:
                raise _held(lock, who) from None
            time.sleep(0.01)


def _give_second_name(made: Path, lock: Path) -> None:
    try:
        os.link(made, lock)
    except OSError as error:
        if error.errno not in NO_SECOND_NAMES:
            raise
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
        with open(descriptor, "wb", buffering=0) as file:
            files.write_all(file.fileno(), made.read_bytes())
            os.fsync(file.fileno())


def _held(lock: Path, who: str) -> Busy:
    import shlex  # takes its time to load

    hints = ["run the command again", f"`rm {shlex.quote(path_text(lock))}`, if no git is at work here"]
    return Busy(who, [("lock", lock)], hints)
