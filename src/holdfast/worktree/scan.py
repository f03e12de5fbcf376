"""One look at a worktree: reads what has changed, and builds the trees above it.

What a file looked like when it was stored is remembered, so that it is read again only when it looks different.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.system import safe_paths
from holdfast.system.git.command import Git, Reader
from holdfast.system.git.repository import BLOB, DIRECTORY, TREE, Entry, Known, Repository, format_tree
from holdfast.worktree.git_filters import filtered
from holdfast.worktree.metadata import Beside, is_temporary
from holdfast.worktree.paths import is_within, parents
from holdfast.worktree.scan_directories import Watch, is_settled

FILE, EXECUTABLE, LINK, MODULE = 0o100644, 0o100755, 0o120000, 0o160000
SECOND = 1_000_000_000
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # nothing is there, or what we do not go through
FORM = 1  # what another version remembers is not believed: it may have kept what is not to be kept, or the other way


class Tracked(NamedTuple):
    """A line of git's index, as `ls-files -v -s` tells it."""

    tag: bytes
    mode: bytes
    id: bytes
    stage: bytes
    path: bytes

    @property
    def is_skipped(self) -> bool:
        """Whether git was told not to look at it, as a sparse checkout does for what it leaves out."""
        return self.tag in b"Ss"

    @property
    def is_module(self) -> bool:
        return self.mode == b"160000"


def parse_tracked(line: bytes) -> Tracked:
    entry, _, path = line.partition(b"\t")
    tag, mode, id, stage = entry.split(b" ")
    return Tracked(tag, mode, id, stage, path)


class Seen(Struct, array_like=True):
    """How a path looked when it was stored: what a changed file must differ in."""

    mode: int
    id: str
    look: tuple[int, int, int, int, int] | None  # None: it may have changed within one tick of the clock


class Memory(Struct):
    """What the private index does not know yet."""

    tree: str
    beside: Beside
    seen: dict[bytes, Seen | None] = {}  # None: it is gone
    user_index: tuple[int, int, int] | None = None  # when tracked but ignored files were last asked for
    staged_index: tuple[int, int, int] | None = None
    staged: str | None = None
    forced: list[bytes] = []  # tracked although they are ignored
    forced_in: str | None = None  # the tree of the index in which those were found, by the rules of then
    watch: Watch | None = None
    user_config: list[tuple[int, int, int] | None] = []  # when the user's own list of ignored files was asked for
    user_excludes: str | None = None
    index: tuple[int, int, int] | None = None  # the private index that all this is told beside
    form: int = 0  # of what is remembered


class Limits(Struct):
    file: int
    total: int
    filtered: bool = True  # whether what LFS or git-crypt would hide is kept as it stands in the worktree


class Scan(Struct):
    """A worktree at one moment. The objects that the repository lacks are pending in the shadow's reader."""

    tree: str
    beside: Beside
    changed: list[bytes]
    memory: Memory
    base: str = ""  # the tree from which what has changed is counted


class Ground(Protocol):
    """What a look needs to know of the worktree it looks at."""

    root: Path
    git: Git
    directory: Path
    borders: tuple[bytes, ...]

    @property
    def reader(self) -> Reader: ...
    @property
    def known(self) -> Known: ...


class Looking:
    """One look at a worktree: reads what has changed and builds the trees above it."""

    def __init__(self, shadow: Ground, memory: Memory, limits: Limits) -> None:
        self.shadow = shadow
        self.root = os.fsencode(shadow.root)
        self.form = shadow.git.form
        self.known = shadow.known
        self.reader = shadow.reader
        self.memory = memory
        self.limits = limits
        self.budget = limits.total
        self.objects = shadow.reader.pending
        self.indexed: set[bytes] = set()  # what git looked up in the private index
        self.beside = memory.beside
        self.changes: dict[bytes, Entry | None] = {}
        self.seen = dict(memory.seen)
        self._left_out = memory.beside.skipped  # by the look before
        self._way = safe_paths.Way(self.root)

    def look_at(self, paths: Iterable[bytes]) -> None:
        """Look at these paths, and believe that nothing else has changed."""
        # safeguard: nested-git-in-scan
        ours = (path for path in dict.fromkeys(paths) if not is_within(path, self.shadow.borders))
        found = {path: status for path in ours if (status := self._look(path))}
        withheld = set() if self.limits.filtered else filtered(self.shadow.git, self.shadow.directory, found)
        for path, status in found.items():
            if path in withheld or status.st_size > min(self.limits.file, self.budget):
                self._skip(path, status.st_size)
            else:
                self._store(path, status)
        for path in [path for path in self.beside.skipped if not found.keys().isdisjoint(parents(path))]:
            del self.beside.skipped[path]  # where a directory was, a file is now

    def look_everywhere(self, paths: list[bytes], include: Iterable[bytes]) -> None:
        """Look at all that may have changed."""
        self.look_at([*paths, *include, *self.memory.seen])

    def note_surroundings(self, empty: Iterable[bytes], links: Iterable[bytes]) -> None:
        """What a search for names has found that is no file. What was left out is found again while looking."""
        self.beside.empty, self.beside.links, self.beside.skipped = sorted(empty), {}, {}
        for path in sorted(links):
            self.link(path)

    def result(self) -> Scan:
        tree = self._rebuilt(self.memory.tree, self.changes)
        memory = msgspec.structs.replace(self.memory, tree=tree, beside=self.beside, seen=self.seen)
        return Scan(tree, self.beside, sorted(self.changes), memory, self.memory.tree)

    def full(self, path: bytes) -> bytes:
        return self.root + b"/" + path

    def link(self, path: bytes) -> None:
        """A repository inside the worktree: its HEAD is remembered, its files are its own."""
        try:
            place = safe_paths.name_of(self._way.to(path), self.full(path) + b"/.")
        except OSError:  # it is gone, or a link now
            self.beside.links[path] = ""
            return
        if not os.path.isdir(place + b"/.git"):  # a file, which leads to what knows it by the name that it has
            place = self.full(path)
        self.beside.links[path] = ""
        with contextlib.suppress(HoldfastError, OSError):  # what is odd there stops no checkpoint of this one
            self.beside.links[path] = Repository(Path(os.fsdecode(place))).head().commit or ""

    def note_tracked(
        self, tracked: list[Tracked], index_time: int, sizes: dict[bytes, bytes], converted: set[bytes]
    ) -> None:
        """The permission bits of every file, once; later only changed files are looked at.

        Of those that are `converted`, and of those with another size, git holds other bytes.
        """
        for _, mode, id, _, path in tracked:
            try:
                status = self._status(path)
            except OSError:
                self.memory.seen[path] = self.seen[path] = Seen(int(mode, 8), id.decode(), None)
                continue
            if status is None:
                continue
            self.beside.note_mode(path, status.st_mode)
            differs = path in converted or sizes.get(id) != b"%d" % status.st_size
            if differs or status.st_ctime >= index_time:  # git compares whole seconds: within one, it misses a chmod
                self.memory.seen[path] = self.seen[path] = Seen(int(mode, 8), id.decode(), None)

    def _look(self, path: bytes) -> os.stat_result | None:
        """How a file looks that has to be read; None where it is as it was remembered, or is no file."""
        try:
            status = self._status(path)
        except OSError:
            self._leave_out(path)
            return None
        if status is None or stat.S_ISDIR(status.st_mode) or not readable_kind(status.st_mode) or is_temporary(path):
            self._remove(path)
            return None
        before = self.memory.seen.get(path)
        return None if before is not None and before.look == look_of(status) else status

    def _status(self, path: bytes) -> os.stat_result | None:
        """How something looks; None where nothing is there, or a link leads there. An OSError where nobody can tell."""
        directory, _, name = path.rpartition(b"/")
        try:
            return os.lstat(name, dir_fd=self._way.to(directory))  # safeguard: stat-behind-link
        except OSError as error:
            if error.errno not in GONE:
                raise
            return None

    def _leave_out(self, path: bytes) -> None:
        """Skip what may not be looked at, if anything is known of it: it is not gone, and may have changed."""
        before = self._before(path)
        if before is not None:
            self._skip(path, len(self.reader.read(before[1]) or b""))
        elif path in self._left_out:
            self._skip(path, self._left_out[path])

    def _skip(self, path: bytes, size: int) -> None:
        """Leave a file out. No older version of it stays in the tree, for a restore would bring that one back."""
        before = self._before(path)
        self.beside.skipped[path] = size
        self.seen[path] = None
        if before is not None:
            self.changes[path] = None

    def _store(self, path: bytes, status: os.stat_result) -> None:
        try:
            data = self._read(path, is_link=stat.S_ISLNK(status.st_mode))
        except OSError:
            self._skip(path, status.st_size)
            return
        self.budget -= len(data)
        id = self.form.id_of(BLOB, data)
        self._need(id, BLOB, data)
        mode = LINK if stat.S_ISLNK(status.st_mode) else EXECUTABLE if status.st_mode & 0o100 else FILE
        settled = is_settled(status.st_mtime_ns, status.st_ctime_ns, time.time_ns())
        before = self._before(path)
        self.seen[path] = Seen(mode, id, look_of(status) if settled else None)
        self.beside.note_mode(path, status.st_mode)
        self.beside.skipped.pop(path, None)
        if before is None:
            self._forget_below(path)
        if before != (mode, id):
            self.changes[path] = Entry(mode, b"", id)

    def _read(self, path: bytes, *, is_link: bool) -> bytes:
        """What a file or link holds."""
        directory, _, name = path.rpartition(b"/")
        way = self._way.to(directory)
        if is_link:
            return os.readlink(name, dir_fd=way)
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=way)
        with open(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "is not a regular file any more")
            return file.read()

    def _forget_below(self, path: bytes) -> None:
        """Where a directory was, all in it is gone. Git may not tell: it cannot look behind a link to itself."""
        for below in self.known_below(path):
            self.seen[below] = None

    def known_below(self, directory: bytes) -> Iterator[bytes]:
        """The files in a directory that the remembered tree holds."""
        entry = self.reader.find(self.memory.tree, directory)
        waiting = [(directory, entry)] if entry else []
        while waiting:
            at, found = waiting.pop()
            if found.is_tree:
                waiting += [(at + b"/" + below.name, below) for below in self.reader.tree(found.id)]
            elif at != directory:
                yield at

    def _remove(self, path: bytes) -> None:
        before = self._before(path)
        self.beside.modes.pop(path, None)
        self.beside.skipped.pop(path, None)
        if before is not None or path in self.indexed or path in self.seen:
            self.seen[path] = None  # the index may still know it, and would not tell if the same came back
        if before is not None:
            self.changes[path] = None

    def _before(self, path: bytes) -> tuple[int, str] | None:
        """What the remembered tree holds at a path."""
        if path in self.memory.seen:
            before = self.memory.seen[path]
            return (before.mode, before.id) if before else None
        entry = self.reader.find(self.memory.tree, path)  # the index may know what git could not look at any more
        return (entry.mode, entry.id) if entry and not entry.is_tree else None

    def _rebuilt(self, tree: str, changes: dict[bytes, Entry | None]) -> str:
        """A tree with these paths changed; only the directories above them are written."""
        if not changes:
            return tree
        entries = {entry.name: entry for entry in self.tree(tree)}
        below: dict[bytes, dict[bytes, Entry | None]] = {}
        for path, change in changes.items():
            name, _, rest = path.partition(b"/")
            if rest:
                below.setdefault(name, {})[rest] = change
            elif change is None:
                if name in entries and not entries[name].is_tree:
                    del entries[name]
            else:
                entries[name] = Entry(change.mode, name, change.id)
        for name, inner in below.items():
            old = entries.get(name)
            id = self._rebuilt(old.id if old and old.is_tree else self._empty(), inner)
            if id != self._empty():
                entries[name] = Entry(DIRECTORY, name, id)
            elif old and old.is_tree:
                del entries[name]
        data = format_tree(entries.values())
        id = self.form.id_of(TREE, data)
        self.reader.note_tree(id, entries.values())
        self._need(id, TREE, data)
        return id

    def tree(self, id: str) -> list[Entry]:
        return [] if id == self._empty() else self.reader.tree(id)

    def _empty(self) -> str:
        return self.form.id_of(TREE, b"")

    def _need(self, id: str, kind: str, data: bytes) -> None:
        if id not in self.objects and not self.known.has(id):
            self.objects[id] = (kind, data)


def look_of(status: os.stat_result) -> tuple[int, int, int, int, int]:
    """What changes with a file's content or permissions."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode, status.st_ino


def readable_kind(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
