"""Atomic, durable file writes, locks, and reads that follow no links.

A file is written under a unique temporary name in its directory, read back and compared, synced, renamed, and the
directory synced. Files that other programs write too are replaced by `shared_files`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from holdfast.core.errors import KNOWN_AS, Busy, Facts, Refused, Trouble, from_os_error, known
from holdfast.core.ids import hexdigest
from holdfast.system import safe_paths

# safeguard: linked-file-read
REGULAR = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # no link is followed, no pipe blocks
PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700
READ_LIMIT = 64 * 1024 * 1024
MANY = 64  # number of files above which one sync of the file system is faster


@contextlib.contextmanager
def os_errors(path: Path | str | None = None) -> Iterator[None]:
    """Turn a failed system call into an error with the path and a remedy."""
    try:
        yield
    except safe_paths.Outside as error:
        raise Refused("A link leads out of the project", [("path", path)], ["remove the link"]) from error
    except OSError as error:
        told = error.filename
        # a missing name, that of a held directory, or one relative to it says too little
        if path is not None and (str(told).startswith(safe_paths.HELD) or told in (None, os.path.basename(path))):
            error.filename = str(path)
        raise from_os_error(error) from error


def write(path: Path, data: bytes, mode: int | None = None, root: Path | None = None) -> None:
    """Replace a file's content atomically; its mode stays, a new file is private.

    Here and below: with a root, no link leads out of it, not even one created concurrently.
    """
    with os_errors(path), safe_paths.held(path, root) as place, temporary(place, data, mode_of(place, mode)) as made:
        os.rename(made, place)
        sync_directory(place.parent)  # safeguard: sync-written-name


def put(path: Path, data: bytes, mode: int = PRIVATE_FILE, *, synced: bool = True, date: float | None = None) -> None:
    """Replace a file atomically, without syncing the directory, which is left to the caller.

    Unsynced content may be corrupt after a power cut: only for data that can be rebuilt and is checked by its reader.
    """
    with staged(path, data, mode, synced=synced, date=date):
        pass


@contextlib.contextmanager
def staged(path: Path, data: bytes, mode: int, *, synced: bool = True, date: float | None = None) -> Iterator[None]:
    """Write a file next to its destination, and rename it at the end of the block, when all space is allocated."""
    temporary = path.with_name(f"tmp_holdfast_{os.urandom(6).hex()}")  # git's housekeeping deletes such names
    with os_errors(path):
        try:
            write_new(temporary, data, mode, synced=synced, date=date)
            yield
            os.rename(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def temporary(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Yield a synced temporary file next to `path` with this data; deleted at the end if not renamed."""
    made = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    try:
        write_new(made, data, mode, is_checked=True)
        yield made
    finally:
        made.unlink(missing_ok=True)


def write_new(
    path: Path | bytes,
    data: bytes,
    mode: int,
    *,
    synced: bool = True,
    date: float | None = None,
    is_checked: bool = False,
) -> None:
    """Write a file that does not exist yet; with `is_checked` it is read back."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
    try:
        write_all(descriptor, data)
        os.fchmod(descriptor, mode)
        if date is not None:
            os.utime(descriptor, (date, date))
        if synced:
            os.fsync(descriptor)  # safeguard: sync-written-file, sync-put-file, sync-restored-file
        if is_checked and os.pread(descriptor, len(data) + 1, 0) != data:
            raise OSError(errno.EIO, "what was written does not read back", os.fsdecode(path))
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def mode_of(path: Path, mode: int | None, new: int = PRIVATE_FILE) -> int:
    if mode is not None:
        return mode
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        return new
    return stat.S_IMODE(found) if stat.S_ISREG(found) else PRIVATE_FILE


def read(path: Path, limit: int = READ_LIMIT, root: Path | None = None) -> bytes | None:
    """Return the bytes of a regular file, None if there is none. Links, pipes, devices and huge files are refused."""
    with os_errors(path):
        try:
            with safe_paths.held(path, root) as place:
                descriptor = _open_regular(place, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            if (size := os.fstat(descriptor).st_size) > limit:
                raise Refused("This file is too large to read", [("path", path), ("bytes", size)])
            chunks = []
            while limit > 0 and (chunk := os.read(descriptor, min(limit, 1 << 20))):
                chunks.append(chunk)
                limit -= len(chunk)
            return b"".join(chunks)
        finally:
            os.close(descriptor)


def _open_regular(place: Path, path: Path) -> int:
    try:
        descriptor = os.open(place, REGULAR)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Refused("This is a link or a socket, not a regular file", [("path", path)]) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # safeguard: special-file-read
        os.close(descriptor)
        raise Refused("This is not a regular file", [("path", path)])
    return descriptor


def signature(path: Path | str) -> tuple[int, int, int] | None:
    """Return a value that changes when the file is replaced; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def sync_directory(path: Path) -> None:
    """Make renames, links and new files in this directory durable."""
    _sync(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)


def sync(path: bytes | str) -> None:
    """Sync an existing file: a restored one, or one that git wrote without syncing."""
    _sync(path, REGULAR)


def _sync(path: Path | bytes | str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)  # safeguard: sync-directory
    finally:
        os.close(descriptor)


def remove(path: Path, root: Path | None = None) -> None:
    with os_errors(path), contextlib.suppress(FileNotFoundError), safe_paths.held(path, root) as place:
        os.unlink(place)
        sync_directory(place.parent)  # safeguard: sync-removal


def move_aside(path: Path, mark: str, root: Path) -> Path:
    """Rename a file to an unused name next to it, and return that name."""
    names = [f"{path.name}.{mark}", *(f"{path.name}.{mark}-{number}" for number in range(2, 10_000))]
    with os_errors(path), safe_paths.held(path, root) as place:
        name = next(name for name in names if not os.path.lexists(place.with_name(name)))
        os.rename(place, place.with_name(name))
        sync_directory(place.parent)
    return path.with_name(name)


def make_directories(path: Path, mode: int = 0o777, root: Path | None = None) -> None:
    """Create a directory and missing parents, durably."""
    if not path.is_dir():
        make_directories(path.parent, root=root)
        with os_errors(path), safe_paths.held(path, root) as place:
            place.mkdir(mode, exist_ok=True)
            sync_directory(place.parent)  # safeguard: sync-made-directory


def make_private_directory(path: Path) -> None:
    """Create a directory with mode 0700 under any umask. A link or another user's directory is refused."""
    with os_errors(path):
        if not path.parent.is_dir():
            make_private_directory(path.parent)  # the umask could make it inaccessible to its owner
        try:
            os.mkdir(path, PRIVATE_DIRECTORY)
        except FileExistsError:
            check_private(path)
            return
        safe_paths.set_mode(path, PRIVATE_DIRECTORY)
        sync_directory(path.parent)  # safeguard: sync-private-directory


@contextlib.contextmanager
def working_directory(path: Path) -> Iterator[Path]:
    """Provide an empty private directory; remains of a killed process are deleted."""
    import shutil  # lazy: slow to load

    shutil.rmtree(path, ignore_errors=True)
    make_private_directory(path)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def check_private(path: Path, status: os.stat_result | None = None) -> None:
    """Refuse a directory that is a link, belongs to another user, or is writable by others."""
    with os_errors(path):
        status = status or os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):  # safeguard: linked-store
        raise Refused("The path of the store is not a directory", [("path", path)], ["move it away"])
    if status.st_uid != os.geteuid():  # safeguard: store-owner
        facts: Facts = [("path", path), ("owner", status.st_uid), ("you", os.geteuid())]
        raise Refused("The store belongs to another user", facts, ["work as that user, or move the directory away"])
    if status.st_mode & 0o022:  # safeguard: store-mode
        facts = [("path", path), ("mode", oct(stat.S_IMODE(status.st_mode)))]
        import shlex  # slow to import

        raise Refused("Others can write into the store", facts, [f"`chmod go-w {shlex.quote(known(str(path)))}`"])


@contextlib.contextmanager
def lock(path: Path, deadline: float, what: str = "the store", root: Path | None = None) -> Iterator[None]:
    """Hold a lock file, in a directory that is no link; after the deadline, `Busy` names the holder."""
    with os_errors(path), safe_paths.held(path, root) as place:
        directory = safe_paths.open_directory(place.parent)
        try:
            descriptor = os.open(  # safeguard: linked-lock-file
                path.name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE, dir_fd=directory
            )
        finally:
            os.close(directory)
        os.fchmod(descriptor, PRIVATE_FILE)
    try:
        _wait_for(descriptor, path, time.monotonic() + deadline, what)
        os.pwrite(descriptor, b"%-20d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)  # and the lock with it


def _wait_for(descriptor: int, path: Path, end: float, what: str) -> None:
    """Poll for the lock until the deadline: a blocking `flock` has no timeout."""
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # safeguard: lock-file
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                facts = [("process", holder or "unknown"), ("lock", path)]
                hints = ["run the command again", f"look at it with `ps -p {holder or 'PID'}`"]
                raise Busy(f"Another process is writing to {what} and does not finish", facts, hints) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)


def digest(data: bytes) -> str:
    return hexdigest("sha256", data)


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[int]:
    """Yield a descriptor of a regular file. Links, pipes and devices are refused without waiting."""
    with os_errors(path):
        file = _open_regular(path, path)
    try:
        yield file
    finally:
        os.close(file)


def listed(directory: Path) -> list[Path]:
    """Return the sorted entries of a directory; none if it is unreadable."""
    try:
        return [directory / name for name in sorted(os.listdir(directory))]
    except OSError:
        return []


def sync_file_system(directory: bytes | str) -> None:
    import ctypes  # slower to import than a few files are to write

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
    """Sync loose git objects, their names and their directories."""
    shelves = {os.path.dirname(path) for path in paths}
    places = {os.path.dirname(shelf) for shelf in shelves}
    with os_errors(next(iter(paths), None)):
        if len(paths) > MANY:
            for place in places:
                sync_file_system(place)
            return
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # packed by git meanwhile, which syncs packs
                sync(path)
    for directory in shelves | places:
        sync_directory(Path(directory))


class Held:
    """A private directory held open, so that its name cannot be redirected while it is used.

    The check applies to the held directory itself, so nothing can be swapped in between check and use. Without `/proc`
    the directory is known by its path only.
    """

    def __init__(self, path: Path, check: Callable[[Path], None] | None = None) -> None:
        self.path = path
        self._name = str(path)
        self._check = check
        self._descriptor = open_private(path)
        # safeguard: pinned-store
        self.here = Path(f"{safe_paths.HELD}{self._descriptor}") if os.path.isdir(safe_paths.HELD) else path
        KNOWN_AS[str(self.here)] = known(str(path))
        self._status = os.fstat(self._descriptor)
        try:
            if check is not None:
                check(self.here)
        except BaseException:
            self.close()
            raise

    def is_in_place(self) -> bool:
        """Return True if the path still leads to this directory."""
        try:
            return os.path.samestat(self._status, os.lstat(self._name))
        except OSError:
            return False

    def renew(self) -> None:
        """Hold the directory that is now at the path, under the same descriptor."""
        found = Held(self.path, self._check)
        try:
            os.dup2(found._descriptor, self._descriptor, inheritable=False)
            self._status = found._status
        finally:
            found.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            KNOWN_AS.pop(str(self.here), None)
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()


def open_private(path: Path) -> int:
    """Return a descriptor of a private directory, checked after opening."""
    try:
        with os_errors(path):
            descriptor = os.open(path, safe_paths.PASSING)
    except Trouble:
        check_private(path)  # a better message, if something else is there
        raise
    try:
        check_private(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
