"""Finding new names in a worktree by looking only into directories that look different.

The system changes a directory's dates whenever a name in it comes, goes or is renamed, and nobody can set the second of
them back. So a directory that looks as it did holds the names that it held, and git need not walk through all of them.
What is ignored may change without that: all files that say so are watched as well, and where one differs, everything
is looked at again.
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

Look = tuple[int, int, int]

NOTHING: Look = (0, 0, 0)
MANY = 500  # new names; for more it is quicker to look everywhere
TICK = 50_000_000  # nanoseconds in which something may change twice and keep its date
COARSE_TICK = 2_000_000_000  # the same, on a file system that knows whole seconds only
RULES = b".gitignore"
LONGEST = 8192  # bytes of a `.git` file: no path has more
LEADING = b"gitdir: "  # how one begins
HEAD = re.compile(rb"ref:\s*refs/|[0-9A-Fa-f]{40}")  # how it begins, if git takes what it lies in for a repository
READING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Inner(enum.Enum):
    """A repository inside the worktree: git is sure that it is one, or must not look at it."""

    SURE = enum.auto()
    DOUBTFUL = enum.auto()


class Watch(Struct):
    """How directories looked when their names were read, and what told which of them are ignored."""

    directories: dict[bytes, Look | None] = {}  # None: it may have changed while it was read
    rules: dict[bytes, Look | None] = {}
    ignored: set[bytes] = set()  # directories that are ignored as a whole
    odd: set[bytes] = set()  # pipes, sockets and devices


class LookEverywhere(Exception):
    """What is ignored has changed, or a repository inside the worktree has come or gone."""


class Watching:
    """One search for names. The dates are read before the names, so that no change in between is overlooked."""

    def __init__(self, git: Git, borders: Iterable[bytes]) -> None:
        self.git = git
        self.borders = list(borders)
        self.root = os.fsencode(git.root)
        self.watch = Watch({}, {}, set(), set())
        self.empty: set[bytes] = set()
        self.links: set[bytes] = set()
        self.closed: set[bytes] = set()  # directories that may not be read or entered
        self.doubtful: set[bytes] = set()  # repositories inside that git takes for none, or waits for
        self._begun = time.time_ns()
        self._way = safe_paths.Way(self.root)
        self._lists = [os.fsencode(git.excludes)] if git.excludes else []

    def look_everywhere(self) -> list[bytes]:
        """Read all directories; answers with all untracked files."""
        for path in self._lists:
            self.watch.rules[path] = self._trusted(path)
        self._walk([b""])
        return self._untracked([])

    def look_again(
        self, watch: Watch, empty: Iterable[bytes], links: Iterable[bytes], known: Callable[[bytes], set[bytes]]
    ) -> list[bytes]:
        """Read the directories that look different; answers with the untracked files that are new.

        `known` tells which files of a directory need not be asked for.
        """
        self.watch, self.empty, self.links = watch, set(empty), set(links)
        self._check_rules()
        asked: list[bytes] = []
        for path, look in list(watch.directories.items()):
            was_repository = path in self.links  # what its `.git` leads to goes without a trace here
            if look is None or was_repository or look != self._look(path):
                names = self._read(path)
                if was_repository != (path in self.links):
                    raise LookEverywhere
                asked += self._unknown(path, names, known)
        if len(asked) > MANY:
            raise LookEverywhere
        self._walk(self._not_ignored([path for path in asked if self._is_directory(path)]))
        return self._untracked(asked) if asked else []

    def _walk(self, paths: list[bytes]) -> None:
        """Watch directories and all below them that is not ignored, level by level."""
        while paths:
            below = []
            for at in paths:
                names = self._read(at)
                if RULES in names:
                    self.watch.rules[_below(at, RULES)] = self._trusted(_below(at, RULES))
                below += [_below(at, name) for name, is_directory in names.items() if is_directory]
            paths = self._not_ignored(below)

    def _not_ignored(self, paths: list[bytes]) -> list[bytes]:
        """Those of the directories that no rule leaves out. That all that is in one is ignored means nothing yet."""
        if not paths:
            return []
        listed = b"".join(path + b"\0" for path in paths)
        ignored = set(zsplit(self.git.start("check-ignore", "-z", "--stdin", "--no-index").finish(listed, (1,))))
        self.watch.ignored |= ignored
        return [path for path in paths if path not in ignored]

    def _read(self, path: bytes) -> dict[bytes, bool]:
        """The names in a directory, and whether each is a directory. From now on it is watched."""
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
        if path and b".git" in names:  # it may become a repository without a trace here
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
        """The names in a directory that no link leads to, which of them are odd, and whether it is a repository."""
        above, _, name = path.rpartition(b"/")
        directory = os.open(name or b".", READING, dir_fd=self._way.to(above))
        try:
            os.stat(".", dir_fd=directory)  # who may list it may still not look at what is in it
            with os.scandir(directory) as entries:
                found = {os.fsencode(entry.name): entry for entry in entries}
            names = {name: entry.is_dir(follow_symlinks=False) for name, entry in found.items()}
            odd = {_below(path, name) for name, entry in found.items() if not names[name] and _is_odd(entry)}
            return names, odd, _find_repository(directory) if b".git" in names else None
        finally:
            os.close(directory)

    def _unknown(self, path: bytes, names: dict[bytes, bool], known: Callable[[bytes], set[bytes]]) -> list[bytes]:
        if RULES in names and _below(path, RULES) not in self.watch.rules:
            raise LookEverywhere
        files = known(path) if names else set()
        new = {
            _below(path, name): is_directory
            for name, is_directory in names.items()
            if is_directory or name not in files
        }
        return [below for below, is_directory in new.items() if not (is_directory and self._is_known_directory(below))]

    def _is_known_directory(self, path: bytes) -> bool:
        return path in self.watch.directories or path in self.watch.ignored

    def _check_rules(self) -> None:
        if any(path not in self.watch.rules for path in self._lists):
            raise LookEverywhere
        for path, look in self.watch.rules.items():
            if look is None or self._look(path) != look:
                raise LookEverywhere

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
    """Whether something changed so long ago that a further change would show in its dates."""
    coarse = changed % 1_000_000_000 == 0
    return now - max(modified, changed) >= (COARSE_TICK if coarse else TICK)


def literal(path: bytes, how: str = "") -> str:
    return f":({how}top,literal){os.fsdecode(path)}"


def _below(path: bytes, name: bytes) -> bytes:
    return path + b"/" + name if path else name


def _is_odd(entry: os.DirEntry[str]) -> bool:
    return not (entry.is_file(follow_symlinks=False) or entry.is_symlink())


def _find_repository(directory: int) -> Inner | None:
    """As git sees it: there is a HEAD in `.git`, or where a file of that name leads to. Else all in it is ordinary."""
    try:
        is_file = stat.S_ISREG(os.stat(".git", dir_fd=directory).st_mode)
        return _judge(_led_to(directory) + b"/HEAD" if is_file else b".git/HEAD", directory)
    except PermissionError:
        return Inner.DOUBTFUL
    except (OSError, ValueError):
        return None


def _judge(head: bytes, directory: int) -> Inner | None:
    """What a HEAD makes of the directory around it. Git opens whatever is no link and no directory."""
    mode = os.lstat(head, dir_fd=directory).st_mode
    if stat.S_ISLNK(mode):
        return Inner.SURE if os.readlink(head, dir_fd=directory).startswith(b"refs/") else None
    if not stat.S_ISREG(mode):
        return None if stat.S_ISDIR(mode) else Inner.DOUBTFUL
    return Inner.SURE if HEAD.match(_beginning(head, directory)) else None


def _led_to(directory: int) -> bytes:
    """What a `.git` file says, from the directory in which it lies."""
    said = _beginning(b".git", directory)
    if not said.startswith(LEADING):
        raise ValueError("git takes this for nothing")
    return said.removeprefix(LEADING).rstrip(b"\r\n")


def _beginning(path: bytes, directory: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        return os.read(descriptor, LONGEST)
    finally:
        os.close(descriptor)
