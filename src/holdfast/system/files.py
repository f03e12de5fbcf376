"""The one module that writes files: whole or not at all, on disk when it returns.

A file is written under a unique temporary name in its own directory, read back and compared, synced, renamed, and the
directory synced. Where other programs write the same file, `shared_files` does so with care for what they write.
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
REGULAR = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # no link is followed, no pipe waited for
PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700
READ_LIMIT = 64 * 1024 * 1024
MANY = 64  # files from which on the whole file system is synced at once, which takes as long as some dozens of them


@contextlib.contextmanager
def os_errors(path: Path | str | None = None) -> Iterator[None]:
    """Turn a failed system call into one sentence with the path and a remedy."""
    try:
        yield
    except safe_paths.Outside as error:
        raise Refused("A link leads out of the project", [("path", path)], ["remove the link"]) from error
    except OSError as error:
        if path is not None and _names_too_little(error.filename, path):
            error.filename = str(path)
        raise from_os_error(error) from error


def _names_too_little(told: object, path: Path | str) -> bool:
    """Whether people would not find what a failure names: nothing, a held directory, or a name inside of one."""
    return told is None or str(told).startswith(safe_paths.HELD) or told == os.path.basename(path)


def write(path: Path, data: bytes, mode: int | None = None, root: Path | None = None) -> None:
    """Replace a file's content atomically; its mode stays, a new file is the user's alone.

    Here and below: where a root is given, no link leads out of it, also none that is put on the way meanwhile.
    """
    with (
        os_errors(path),
        safe_paths.held(path, root) as place,
        temporary(place, data, mode_of(place, mode)) as made,
    ):
        os.rename(made, place)
        sync_directory(place.parent)  # safeguard: sync-written-name


def put(path: Path, data: bytes, mode: int = PRIVATE_FILE, *, synced: bool = True, date: float | None = None) -> None:
    """Replace a file at once. Its name is on disk only after a sync of the directory, which is the caller's.

    Without a sync it may be damaged after a power cut: that is for what can be made anew, and its reader must notice.
    """
    with staged(path, data, mode, synced=synced, date=date):
        pass


@contextlib.contextmanager
def staged(path: Path, data: bytes, mode: int, *, synced: bool = True, date: float | None = None) -> Iterator[None]:
    """Write a file beside its place, which it takes at the end of the block: by then there was room for all of it."""
    temporary = path.with_name(f"tmp_holdfast_{os.urandom(6).hex()}")  # git's housekeeping clears such names away
    with os_errors(path):
        try:
            with open(_create(temporary), "wb", buffering=0) as file:
                write_all(file.fileno(), data)
                os.fchmod(file.fileno(), mode)
                if date is not None:
                    os.utime(file.fileno(), (date, date))
                if synced:
                    os.fsync(file.fileno())  # safeguard: sync-put-file
            yield
            os.rename(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def temporary(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """A synced file beside `path` that holds `data`; gone at the end, if it was not renamed."""
    made = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    descriptor = _create(made)
    try:
        with open(descriptor, "r+b", buffering=0) as file:
            write_all(file.fileno(), data)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())  # safeguard: sync-written-file
            if os.pread(file.fileno(), len(data) + 1, 0) != data:
                raise OSError(errno.EIO, "what was written does not read back", str(made))
        yield made
    finally:
        made.unlink(missing_ok=True)


def _create(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)


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
    """The bytes of a regular file, or None where there is none. Links, pipes, devices and giants are refused."""
    with os_errors(path):
        try:
            with safe_paths.held(path, root) as place:
                descriptor = os.open(place, REGULAR)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise Refused("This is a link or a socket, not a regular file", [("path", path)]) from error
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):  # safeguard: special-file-read
                raise Refused("This is not a regular file", [("path", path)])
            if status.st_size > limit:
                raise Refused("This file is too large to read", [("path", path), ("bytes", status.st_size)])
            return _read_all(descriptor, limit)
        finally:
            os.close(descriptor)


def _read_all(descriptor: int, limit: int) -> bytes:
    chunks = []
    while limit > 0 and (chunk := os.read(descriptor, min(limit, 1 << 20))):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def signature(path: Path) -> tuple[int, int, int] | None:
    """What is different once a file was replaced; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def sync_directory(path: Path) -> None:
    """Make a rename, link or new file in this directory survive a power cut."""
    _sync(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)


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
    """Give a file another name beside it, which nothing has yet; answers with that."""
    names = [f"{path.name}.{mark}", *(f"{path.name}.{mark}-{number}" for number in range(2, 10_000))]
    with os_errors(path), safe_paths.held(path, root) as place:
        name = next(name for name in names if not os.path.lexists(place.with_name(name)))
        os.rename(place, place.with_name(name))
        sync_directory(place.parent)
    return path.with_name(name)


def make_directories(path: Path, mode: int = 0o777, root: Path | None = None) -> None:
    """Make a directory and what lacks above it. A power cut takes none of them away, nor what lies in them."""
    if not path.is_dir():
        make_directories(path.parent, root=root)
        with os_errors(path), safe_paths.held(path, root) as place:
            place.mkdir(mode, exist_ok=True)
            sync_directory(place.parent)  # safeguard: sync-made-directory


def make_private_directory(path: Path) -> None:
    """A directory of the user's own, under any umask. One that is a link or another's is refused."""
    with os_errors(path):
        if not path.parent.is_dir():
            make_private_directory(path.parent)  # an umask could close it to its owner
        try:
            os.mkdir(path, PRIVATE_DIRECTORY)
        except FileExistsError:
            check_private(path)
            return
        safe_paths.set_mode(path, PRIVATE_DIRECTORY)
        sync_directory(path.parent)  # safeguard: sync-private-directory


def check_private(path: Path, status: os.stat_result | None = None) -> None:
    """Refuse a directory that is a link, belongs to somebody else, or lets others write."""
    with os_errors(path):
        status = status or os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):  # safeguard: linked-store
        raise Refused("The place of the store is not a directory", [("path", path)], ["move it away"])
    if status.st_uid != os.geteuid():  # safeguard: store-owner
        facts: Facts = [("path", path), ("owner", status.st_uid), ("you", os.geteuid())]
        raise Refused("The store belongs to another user", facts, ["work as that user, or move the directory away"])
    if status.st_mode & 0o022:  # safeguard: store-mode
        facts = [("path", path), ("mode", oct(stat.S_IMODE(status.st_mode)))]
        import shlex  # takes its time to load

        raise Refused("Others can write into the store", facts, [f"`chmod go-w {shlex.quote(known(str(path)))}`"])


@contextlib.contextmanager
def lock(path: Path, deadline: float, what: str = "the store", root: Path | None = None) -> Iterator[None]:
    """Hold a lock file, in a directory that is no link; whoever waits longer than the deadline is told who has it."""
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
        os.close(descriptor)  # and with it the lock


def _wait_for(descriptor: int, path: Path, end: float, what: str) -> None:
    """Ask again and again until the end: whoever lets the system wait for a lock waits without one."""
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # safeguard: lock-file
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                raise Busy(
                    f"Another process is writing to {what} and does not finish",
                    [("process", holder or "unknown"), ("lock", path)],
                    ["run the command again", f"look at it with `ps -p {holder or 'PID'}`"],
                ) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)


def digest(data: bytes) -> str:
    return hexdigest("sha256", data)


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[int]:
    """A regular file, open for reading. Links, pipes and devices are refused, and never waited for."""
    try:
        file = os.open(path, REGULAR)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Refused("This is a link or a socket, not a regular file", [("path", path)]) from error
        raise from_os_error(error) from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Refused("This is not a regular file", [("path", path)])
        yield file
    finally:
        os.close(file)


def listed(directory: Path) -> list[Path]:
    """The entries of a directory by name; none where it cannot be read."""
    try:
        return [directory / name for name in sorted(os.listdir(directory))]
    except OSError:
        return []


def sync(path: bytes | str) -> None:
    """Bring a written file to the disk: a restored one, or what git wrote and did not sync."""
    _sync(path, REGULAR)


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
    with os_errors(next(iter(paths), None)):
        if len(paths) > MANY:
            for place in places:
                sync_file_system(place)
            return
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # git has put it into a pack meanwhile, and packs it does sync
                sync(path)
    for directory in shelves | places:
        sync_directory(Path(directory))


def unchecked(_here: Path) -> None:
    """For a directory of which it is enough that it is ours."""


class Held:
    """A directory of the user's own that is kept open: its name leads nowhere else as long as it is held.

    What is looked at is what is held, so nothing can be put in its place between the look and the use. A system that
    has no names for descriptors knows it by its own name only.
    """

    def __init__(self, path: Path, check: Callable[[Path], None] = unchecked) -> None:
        self.path = path
        self._name = str(path)
        self._check = check
        self._descriptor = open_private(path)
        # safeguard: pinned-store
        self.here = Path(f"{safe_paths.HELD}{self._descriptor}") if os.path.isdir(safe_paths.HELD) else path
        KNOWN_AS[str(self.here)] = known(str(path))
        self._note()
        try:
            check(self.here)
        except BaseException:
            self.close()
            raise

    def is_in_place(self) -> bool:
        """Whether its own name leads to it, and to nothing that took its place."""
        try:
            return self._identity == _identity(os.lstat(self._name))
        except OSError:
            return False

    def renew(self) -> None:
        """Hold what is in its place now, under the same name as before."""
        found = Held(self.path, self._check)
        try:
            os.dup2(found._descriptor, self._descriptor, inheritable=False)
            self._note()
        finally:
            found.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            KNOWN_AS.pop(str(self.here), None)
            os.close(self._descriptor)
            self._descriptor = -1

    def _note(self) -> None:
        self._identity = _identity(os.fstat(self._descriptor))

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()


def open_private(path: Path) -> int:
    """A descriptor of a directory of the user's own: the very one that was looked at."""
    try:
        with os_errors(path):
            descriptor = os.open(path, safe_paths.PASSING)
    except Trouble:
        check_private(path)  # says it better, if something else is there
        raise
    try:
        check_private(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
