"""Files that other programs write too: replaced by an atomic exchange, with earlier versions kept.

A program that ignores our lock may write between our read and the exchange. The exchange then returns its version,
which is put back. Until then it is kept under a name that encodes the digests of the expected and the written version,
so that recovery after a kill can identify and restore it.
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

NOTHING = "00000000"  # the mark of a deletion
KEPT = 2
NO_SECOND_NAMES = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # as on exFAT
MODE = 0o644
LEFT = re.compile(r"\.(?P<name>.+)\.(?P<expected>[0-9a-f]{8})(?P<written>[0-9a-f]{8})[0-9a-f]{8}")
STALE = 10.0  # seconds after which an exchange cannot be in progress
AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2


def replace_shared(
    path: Path, expected: bytes | None, data: bytes, new: int = files.PRIVATE_FILE, root: Path | None = None
) -> bytes | None:
    """Replace a shared file if it still holds `expected`. Its mode stays; a new file has mode `new`.

    Returns None on success. Otherwise the file stays, and its current bytes are returned.
    """
    with files.os_errors(path), safe_paths.held(path, root) as place:
        _settle_all(place, STALE)
        with files.temporary(place, data, files.mode_of(place, None, new)) as temporary:
            if expected is not None:
                return _replace(temporary, place, expected, data)
            try:
                os.link(temporary, place)
            except FileExistsError:
                return files.read(place) or b""
            files.sync_directory(place.parent)  # safeguard: sync-linked-file
            return None


def remove_shared(path: Path, expected: bytes, root: Path | None = None) -> bytes | None:
    """Delete a shared file if it still holds `expected`.

    Returns None on success, or if it was gone. Otherwise the file stays, and its current bytes are returned.
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
        except Refused:  # replaced by something that is no file
            os.rename(left, place)
            raise
        if found == expected:  # safeguard: removed-file-unchanged
            left.unlink()
            files.sync_directory(place.parent)
            return None
        _put_back(left, place)
        return found


def _put_back(left: Path, path: Path) -> None:
    with contextlib.suppress(FileExistsError):  # written again already
        os.link(left, path)
    left.unlink()
    files.sync_directory(path.parent)


def settle(path: Path, stale: float = 0.0) -> None:
    """Restore another program's version after a killed exchange; the caller must hold the lock."""
    with files.os_errors(path):
        if path.parent.is_dir():
            _settle_all(path, stale)


def _replace(temporary: Path, path: Path, expected: bytes, data: bytes) -> bytes | None:
    left = path.with_name(f".{path.name}.{_mark(expected)}{_mark(data)}{os.urandom(4).hex()}")
    os.rename(temporary, left)
    try:
        _exchange(left, path)
        try:
            found = files.read(left) or b""
        except Refused:  # replaced by something that is no file
            _exchange(left, path)
            raise
        if found != expected:
            found = _give_back(left, path, data, found)
    except BaseException:
        _clear(left, (_mark(expected), _mark(data)))
        raise
    left.unlink(missing_ok=True)
    files.sync_directory(path.parent)  # safeguard: sync-exchanged-file
    return None if found == expected else found


def _give_back(left: Path, path: Path, ours: bytes, theirs: bytes) -> bytes:
    """Put another program's version back; repeat if it has written again in between."""
    while True:
        _exchange(left, path)
        out = files.read(left) or b""
        if out == ours:
            return theirs
        ours, theirs = theirs, out


# After a kill


def _mark(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def _settle_all(path: Path, stale: float) -> None:
    for name in os.listdir(path.parent):
        found = LEFT.fullmatch(name)
        if found and found["name"] == path.name and _age(path.with_name(name)) >= stale:
            with contextlib.suppress(Refused):  # not a regular file, or not readable
                _settle(path.with_name(name), path, found["expected"], found["written"])


def _settle(left: Path, path: Path, expected: str, written: str) -> None:
    """Restore a foreign version if ours is still in place; a known version is deleted."""
    if _clear(left, (expected, written)):
        return
    if written == NOTHING and (not os.path.lexists(path) or os.path.samefile(left, path)):
        _put_back(left, path)
    elif _mark(files.read(path) or b"") == written:
        _exchange(left, path)
        if not _clear(left, (written,)):  # written again in that moment
            _exchange(left, path)
        files.sync_directory(path.parent)


def _clear(left: Path, known: tuple[str, ...]) -> bool:
    """Delete a leftover with known content. Unknown content exists nowhere else."""
    found = files.read(left)
    if found is not None and _mark(found) not in known:
        return False
    left.unlink(missing_ok=True)
    return True


def _age(left: Path) -> float:
    """Return the seconds since the leftover was created, by a clock that may have been set back."""
    try:
        return abs(time.time() - left.lstat().st_ctime)
    except FileNotFoundError:
        return -1.0


# The exchange


def _exchange(one: Path, other: Path) -> None:
    """Exchange two names atomically, so that no reader ever finds neither."""
    code = _exchange_call()(os.fsencode(one), os.fsencode(other))
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        aside = one.with_name(one.name + ".old")  # the new file is in place at every moment, the old one is kept
        os.link(other, aside)
        os.rename(one, other)
        os.rename(aside, one)
    elif code:
        raise OSError(code, os.strerror(code), str(other))


@functools.cache
def _exchange_call() -> Callable[[bytes, bytes], int]:
    """Return the system call that exchanges two names; it returns an errno or 0."""
    import ctypes  # slow to import, and rarely needed

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
    """The last good versions of files that other programs may corrupt, private to the user."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def keep(self, path: Path, data: bytes) -> None:
        """Keep this version of `path`, and delete the oldest ones."""
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
        except Refused:  # not a regular file
            return None
        return data if data is not None and files.digest(data) == path.name.partition("-")[2] else None


def replace_locked(path: Path, data: bytes, made: Path, who: str, patience: float) -> None:
    """Replace a file of git's by renaming its lock file, as git does; durable on return.

    The content is written to `made` first, and the lock is a hard link of it, so that a lock left by a kill is known to
    be ours. In any case the lock is released: git would wait for it.
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
    """Delete leftovers of a kill. A lock is ours if it is a hard link of our file; any other may be git's."""
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.lstat(made), os.lstat(lock)):  # safeguard: foreign-ref-lock
            os.unlink(lock)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(made)


def _take(made: Path, lock: Path, who: str, patience: float) -> None:
    """Take git's lock as a hard link of our file, which has the new content."""
    end = time.monotonic() + patience
    while True:
        try:
            _give_second_name(made, lock)
            return
        except FileExistsError:
            if time.monotonic() > end:
                import shlex  # slow to import

                hints = ["run the command again", f"`rm {shlex.quote(path_text(lock))}`, if no git is at work here"]
                raise Busy(who, [("lock", lock)], hints) from None
            time.sleep(0.01)


def _give_second_name(made: Path, lock: Path) -> None:
    try:
        os.link(made, lock)
    except OSError as error:
        if error.errno not in NO_SECOND_NAMES:
            raise
        files.write_new(lock, made.read_bytes(), MODE)
