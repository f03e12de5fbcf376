"""Files that other programs write too: exchanged in one step, and earlier versions kept.

A stranger who ignores our lock may write between our look at a file and the exchange. What comes out is then his, and
goes back. Until it does, it lies under a name that tells what we had expected and what we wrote, so that whoever comes
after a kill knows it for his, and puts it back.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from holdfast.core.errors import Busy, Refused
from holdfast.core.text import path_text
from holdfast.system import files, safe_paths

NOTHING = "00000000"  # the mark of what stands where a file was taken away
KEPT = 2
NO_SECOND_NAMES = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # as on exFAT
MODE = 0o644
LEFT = re.compile(r"\.(?P<name>.+)\.(?P<expected>[0-9a-f]{8})(?P<written>[0-9a-f]{8})[0-9a-f]{8}")
STALE = 10.0  # seconds since an exchange after which nobody is in the middle of it any more
AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2


def replace_shared(
    path: Path, expected: bytes | None, data: bytes, new: int = files.PRIVATE_FILE, root: Path | None = None
) -> bytes | None:
    """Replace a file that strangers write too, if it still holds `expected`. Its mode stays; a new one has mode `new`.

    Returns None when that was so. Otherwise the stranger's bytes come back, and their file stays as it was.
    """
    with files.os_errors(path), safe_paths.held(path, root) as place:
        _settle_all(place, STALE)
        mode = files.mode_of(place, None, new)
        with files.temporary(place, data, mode) as temporary:
            if expected is None:
                return _create(temporary, place)
            return _replace(temporary, place, expected, data)


def remove_shared(path: Path, expected: bytes, root: Path | None = None) -> bytes | None:
    """Take a file away that strangers write too, if it still holds `expected`.

    Returns None when that was so, or it was gone. Otherwise the stranger's bytes come back, and so does their file.
    """
    with files.os_errors(path), safe_paths.held(path, root) as place:
        _settle_all(place, STALE)
        left = place.with_name(f".{place.name}.{_mark(expected)}{NOTHING}{os.urandom(4).hex()}")
        try:
            os.rename(place, left)
        except FileNotFoundError:
            return None
        try:
            found = files.read(left)
        except Refused:  # a stranger put something that is no file there
            os.rename(left, place)
            raise
        if found == expected:  # safeguard: removed-file-unchanged
            left.unlink()
            files.sync_directory(place.parent)
            return None
        _put_back(left, place)
        return found


def _put_back(left: Path, path: Path) -> None:
    with contextlib.suppress(FileExistsError):  # he has written again already
        os.link(left, path)
    left.unlink()
    files.sync_directory(path.parent)


def settle(path: Path, stale: float = 0.0) -> None:
    """Put back what a kill in the middle of an exchange left of a stranger's; nobody else may exchange it now."""
    with files.os_errors(path):
        if path.parent.is_dir():
            _settle_all(path, stale)


def _replace(temporary: Path, path: Path, expected: bytes, data: bytes) -> bytes | None:
    left = path.with_name(f".{path.name}.{_mark(expected)}{_mark(data)}{os.urandom(4).hex()}")
    os.rename(temporary, left)
    try:
        found = _exchanged(left, path, data, expected)
    except BaseException:
        _clear(left, (_mark(expected), _mark(data)))
        raise
    left.unlink(missing_ok=True)
    files.sync_directory(path.parent)  # safeguard: sync-exchanged-file
    return None if found == expected else found


def _exchanged(left: Path, path: Path, data: bytes, expected: bytes) -> bytes:
    """What was in the file when ours came there; a stranger's version is back in its place."""
    _exchange(left, path)
    try:
        found = files.read(left) or b""
    except Refused:  # a stranger put something that is no file there
        _exchange(left, path)
        raise
    return found if found == expected else _give_back(left, path, data, found)


def _give_back(left: Path, path: Path, ours: bytes, theirs: bytes) -> bytes:
    """Put a stranger's version back. What comes out must be ours; else he has written again, and that goes back."""
    while True:
        _exchange(left, path)
        out = files.read(left) or b""
        if out == ours:
            return theirs
        ours, theirs = theirs, out


def _create(temporary: Path, path: Path) -> bytes | None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return files.read(path) or b""
    files.sync_directory(path.parent)  # safeguard: sync-linked-file
    return None


# After a kill


def _mark(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def _settle_all(path: Path, stale: float) -> None:
    for name in os.listdir(path.parent):
        found = LEFT.fullmatch(name)
        if found and found["name"] == path.name and _age(path.with_name(name)) >= stale:
            with contextlib.suppress(Refused):  # somebody put something there that is no file, or cannot be read
                _settle(path.with_name(name), path, found["expected"], found["written"])


def _settle(left: Path, path: Path, expected: str, written: str) -> None:
    """Exchange a stranger's version for ours, if that still stands there; a version that we know needs no keeping."""
    if _clear(left, (expected, written)):
        return
    if written == NOTHING and (not os.path.lexists(path) or os.path.samefile(left, path)):
        _put_back(left, path)
    elif _mark(files.read(path) or b"") == written:
        _exchange(left, path)
        if not _clear(left, (written,)):  # he has written once more in that moment
            _exchange(left, path)
        files.sync_directory(path.parent)


def _clear(left: Path, known: tuple[str, ...]) -> bool:
    """Remove what holds nothing but a version that is known. Nobody else has what is not."""
    found = files.read(left)
    if found is not None and _mark(found) not in known:
        return False
    left.unlink(missing_ok=True)
    return True


def _age(left: Path) -> float:
    """Seconds since it came to lie there, by a clock that may have been turned back since."""
    try:
        return abs(time.time() - left.lstat().st_ctime)
    except FileNotFoundError:
        return -1.0


# The exchange


def _exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step, so that no reader ever finds neither."""
    code = _exchange_call()(os.fsencode(one), os.fsencode(other))
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        _exchange_by_renames(one, other)
    elif code:
        raise OSError(code, os.strerror(code), str(other))


def _exchange_by_renames(one: Path, other: Path) -> None:
    """Where the file system cannot exchange: the new file is in place at every moment, the old one is kept."""
    aside = one.with_name(one.name + ".old")
    os.link(other, aside)
    os.rename(one, other)
    os.rename(aside, one)


@functools.cache
def _exchange_call() -> Callable[[bytes, bytes], int]:
    """The system's own exchange of two names, answering with an errno or 0."""
    import ctypes  # costs more to import than all the rest here, and few commands need it

    library = ctypes.CDLL(None, use_errno=True)

    def exchange(one: bytes, other: bytes) -> int:
        if sys.platform == "darwin":
            failed = library.renamex_np(one, other, RENAME_SWAP)
        elif hasattr(library, "renameat2"):
            failed = library.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
        else:
            return errno.ENOSYS
        return ctypes.get_errno() if failed else 0

    return exchange


class Generations:
    """The last few good versions of files that others may damage, kept for the user alone."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def keep(self, path: Path, data: bytes) -> None:
        """Keep this version of `path`; only the newest few stay."""
        place = self.place_of(path)
        files.make_private_directory(self.directory)
        files.make_private_directory(place)
        numbers, named = self._numbers(path), files.digest(data)
        if numbers and numbers[-1].endswith(f"-{named}") and self._load(place / numbers[-1]) == data:
            return
        number = int(numbers[-1].partition("-")[0]) + 1 if numbers else 1
        files.write(place / f"{number:08d}-{named}", data, files.PRIVATE_FILE)
        good = [name for name in numbers if self._load(place / name) is not None]
        for old in good[: 1 - KEPT]:
            files.remove(place / old)

    def find(self, path: Path) -> list[bytes]:
        """The versions that are whole, the newest first. A damaged one is never offered."""
        found = (self._load(self.place_of(path) / name) for name in reversed(self._numbers(path)))
        return [data for data in found if data is not None]

    def place_of(self, path: Path) -> Path:
        return self.directory / files.digest(os.fsencode(path.absolute()))[:32]

    def _numbers(self, path: Path) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.place_of(path)) if name[:1].isdigit())
        except FileNotFoundError:
            return []

    def _load(self, path: Path) -> bytes | None:
        try:
            data = files.read(path)
        except Refused:  # something else stands in its place
            return None
        return data if data is not None and files.digest(data) == path.name.partition("-")[2] else None


def replace_locked(path: Path, data: bytes, made: Path, who: str, patience: float) -> None:
    """Replace a file of git's as git does, by the rename of a lock beside it; on disk when this returns.

    The lock is a second name of `made`, where the content is written first, so that one that a kill left is known to be
    ours. However else it ends, no lock stays behind: git would wait for us.
    """
    lock = path.with_name(path.name + ".lock")
    _clear_lock(made, lock)
    files.put(made, data, MODE)  # safeguard: sync-own-ref
    try:
        _take(made, lock, who, patience)
        os.rename(lock, path)
    except BaseException:
        _clear_lock(made, lock)  # safeguard: release-index-lock
        raise
    os.unlink(made)
    files.sync_directory(path.parent)  # safeguard: sync-ref-name


def _clear_lock(made: Path, lock: Path) -> None:
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
