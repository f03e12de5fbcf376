"""Search for new names in a worktree that reads only directories whose state differs.

The system updates a directory's times whenever an entry is added, removed or renamed, and its ctime cannot be set back.
So a directory with the same state has the same names, and git need not walk through all of them. Ignore rules may
change without that: every file that defines them is watched as well, and when one differs, everything is read again.
"""

from __future__ import annotations

import enum
import os
import re
import stat
import time
from collections.abc import Callable, Iterable

from msgspec import Struct

from holdfast.system import safe_paths
from holdfast.system.git.command import Git, zsplit
from holdfast.worktree.metadata import zjoin

Look = tuple[int, int, int]

NOTHING: Look = (0, 0, 0)
MANY = 500  # new names; above that a full scan is quicker
TICK = 50_000_000  # nanoseconds within which two changes may leave the same time
COARSE_TICK = 2_000_000_000  # the same, on a file system with a resolution of seconds
RULES = b".gitignore"
LONGEST = 8192  # bytes of a `.git` file; paths are shorter
LEADING = b"gitdir: "  # prefix of a `.git` file
HEAD = re.compile(rb"ref:\s*refs/|[0-9A-Fa-f]{40}")  # of a HEAD that git accepts
READING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Inner(enum.Enum):
    """Nested repository: one that git accepts, or one that it must not open."""

    SURE = enum.auto()
    DOUBTFUL = enum.auto()


class Watch(Struct):
    """States of directories when their names were read, and of the files that define which are ignored."""

    directories: dict[bytes, Look | None] = {}  # None: it may have changed while it was read
    rules: dict[bytes, Look | None] = {}
    ignored: set[bytes] = set()  # directories
    odd: set[bytes] = set()  # pipes, sockets and devices


class FullScanNeeded(Exception):
    """Raised when ignore rules have changed, or a nested repository has come or gone."""


class DirectoryScan:
    """One search for names. Times are read before names, so that no change in between is missed."""

    def __init__(self, git: Git, borders: Iterable[bytes]) -> None:
        self.git = git
        self.borders = list(borders)
        self.root = os.fsencode(git.root)
        self.watch = Watch({}, {}, set(), set())
        self.empty: set[bytes] = set()
        self.links: set[bytes] = set()
        self.closed: set[bytes] = set()  # directories without permission to read or enter
        self.doubtful: set[bytes] = set()  # nested repositories that git would reject or hang on
        self._begun = time.time_ns()
        self._way = safe_paths.Way(self.root)
        self._lists = [os.fsencode(git.excludes)] if git.excludes else []

    def search_all(self) -> list[bytes]:
        """Read all directories. Returns all untracked files."""
        for path in self._lists:
            self.watch.rules[path] = self._trusted(path)
        self._walk([b""])
        return self._untracked([])

    def search_changed(
        self, watch: Watch, empty: Iterable[bytes], links: Iterable[bytes], known: Callable[[bytes], set[bytes]]
    ) -> list[bytes]:
        """Read the directories whose state differs. Returns the untracked files that are new.

        `known` returns the files of a directory that need not be reported.
        """
        self.watch, self.empty, self.links = watch, set(empty), set(links)
        if any(path not in watch.rules for path in self._lists):
            raise FullScanNeeded
        if any(look is None or self._look(path) != look for path, look in watch.rules.items()):
            raise FullScanNeeded
        asked: list[bytes] = []
        for path, look in list(watch.directories.items()):
            was_repository = path in self.links  # its git directory may be elsewhere, and vanish unnoticed
            if look is None or was_repository or look != self._look(path):
                names = self._read(path)
                if was_repository != (path in self.links):
                    raise FullScanNeeded
                asked += self._unknown(path, names, known)
        if len(asked) > MANY:
            raise FullScanNeeded
        self._walk(self._not_ignored([path for path in asked if self._is_directory(path)]))
        return self._untracked(asked) if asked else []

    def _walk(self, paths: list[bytes]) -> None:
        """Watch directories and everything below them that is not ignored, level by level."""
        while paths:
            below = []
            for at in paths:
                names = self._read(at)
                if RULES in names:
                    self.watch.rules[_below(at, RULES)] = self._trusted(_below(at, RULES))
                below += [_below(at, name) for name, is_directory in names.items() if is_directory]
            paths = self._not_ignored(below)

    def _not_ignored(self, paths: list[bytes]) -> list[bytes]:
        """Return the directories that no rule ignores. One in which every file is ignored is not ignored itself."""
        ignored = find_ignored(self.git, paths)
        self.watch.ignored |= ignored
        return [path for path in paths if path not in ignored]

    def _read(self, path: bytes) -> dict[bytes, bool]:
        """Return the entries of a directory: name -> is it a directory. It is watched from now on."""
        self.empty.discard(path)
        self.links.discard(path)
        self.watch.directories[path] = self._trusted(path)
        try:
            names, odd, repository = self._listed(path)
        except PermissionError:
            self.watch.directories[path] = None
            self.closed.add(path)
            return {}
        except OSError:
            del self.watch.directories[path]
            return {}
        if path and repository:
            self.links.add(path)
            self.doubtful |= {path} if repository is Inner.DOUBTFUL else set()
            return {}
        if path and b".git" in names:  # it may become a repository without a change in this directory
            self.watch.directories[path] = None
        if odd or self.watch.odd:
            self.watch.odd = {other for other in self.watch.odd if os.path.dirname(other) != path} | odd
        if not names:
            self.empty.add(path)
        names.pop(b".git", None)
        for border in self.borders:
            if os.path.dirname(border) == path:
                names.pop(os.path.basename(border), None)
        return names

    def _listed(self, path: bytes) -> tuple[dict[bytes, bool], set[bytes], Inner | None]:
        """Return the entries of a directory, its special files, and its kind if it is a nested repository."""
        above, _, name = path.rpartition(b"/")
        directory = os.open(name or b".", READING, dir_fd=self._way.to(above))
        try:
            os.stat(".", dir_fd=directory)  # fails without the permission to enter, which listing does not need
            with os.scandir(directory) as entries:
                found = {os.fsencode(entry.name): entry for entry in entries}
            names = {name: entry.is_dir(follow_symlinks=False) for name, entry in found.items()}
            kinds = (
                (name, entry.is_file(follow_symlinks=False) or entry.is_symlink()) for name, entry in found.items()
            )
            odd = {_below(path, name) for name, is_plain in kinds if not (names[name] or is_plain)}
            return names, odd, _find_repository(directory) if b".git" in names else None
        finally:
            os.close(directory)

    def _unknown(self, path: bytes, names: dict[bytes, bool], known: Callable[[bytes], set[bytes]]) -> list[bytes]:
        if RULES in names and _below(path, RULES) not in self.watch.rules:
            raise FullScanNeeded
        files = known(path) if names else set()
        return [
            below
            for name, is_directory in names.items()
            if (below := _below(path, name))
            and not (below in self.watch.directories or below in self.watch.ignored if is_directory else name in files)
        ]

    def _untracked(self, paths: list[bytes]) -> list[bytes]:
        # safeguard: closed-nested-repository
        left_out = (literal(path, "exclude,") for path in (*self.borders, *sorted(self.doubtful)))
        limited = ("--", *map(literal, paths), *left_out)
        found = zsplit(self.git.run("ls-files", "-o", "-z", "--exclude-standard", *limited))
        return [path for path in found if not path.endswith(b"/")]

    def _full(self, path: bytes) -> bytes:
        return self.root + b"/" + path if path else self.root

    def _is_directory(self, path: bytes) -> bool:
        return os.path.isdir(self._full(path)) and not os.path.islink(self._full(path))

    def _look(self, path: bytes) -> Look:
        try:
            status = os.stat(path) if path.startswith(b"/") else os.lstat(self._full(path))
        except OSError:
            return NOTHING
        return status.st_mtime_ns, status.st_ctime_ns, status.st_ino

    def _trusted(self, path: bytes) -> Look | None:
        look = self._look(path)
        return look if is_settled(look[0], look[1], self._begun) else None


def is_settled(modified: int, changed: int, now: int) -> bool:
    """Check whether the last change is so old that a further change would show in the times."""
    coarse = changed % 1_000_000_000 == 0
    return now - max(modified, changed) >= (COARSE_TICK if coarse else TICK)


def find_ignored(git: Git, paths: Iterable[bytes]) -> set[bytes]:
    """Return those of the paths that match an ignore rule, tracked or not."""
    listed = zjoin(paths)
    asked = git.start("check-ignore", "--no-index", "-z", "--stdin") if listed else None
    return set(zsplit(asked.finish(listed, also_fine=(1,)))) if asked else set()


def literal(path: bytes, how: str = "") -> str:
    return f":({how}top,literal){os.fsdecode(path)}"


def _below(path: bytes, name: bytes) -> bytes:
    return path + b"/" + name if path else name


def _find_repository(directory: int) -> Inner | None:
    """Detect a repository as git does: by a HEAD in `.git`, or where a `.git` file points to."""
    try:
        is_file = stat.S_ISREG(os.stat(".git", dir_fd=directory).st_mode)
        place = b".git"
        if is_file:  # it names the target, relative to its directory
            said = _beginning(b".git", directory)
            if not said.startswith(LEADING):
                return None
            place = said.removeprefix(LEADING).rstrip(b"\r\n")
        return _judge(place + b"/HEAD", directory)
    except PermissionError:
        return Inner.DOUBTFUL
    except (OSError, ValueError):
        return None


def _judge(head: bytes, directory: int) -> Inner | None:
    """Classify a directory by its HEAD. Git opens any HEAD that is not a link or directory."""
    mode = os.lstat(head, dir_fd=directory).st_mode
    if stat.S_ISLNK(mode):
        return Inner.SURE if os.readlink(head, dir_fd=directory).startswith(b"refs/") else None
    if not stat.S_ISREG(mode):
        return None if stat.S_ISDIR(mode) else Inner.DOUBTFUL
    return Inner.SURE if HEAD.match(_beginning(head, directory)) else None


def _beginning(path: bytes, directory: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        return os.read(descriptor, LONGEST)
    finally:
        os.close(descriptor)
