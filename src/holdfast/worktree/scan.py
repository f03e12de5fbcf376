"""Scanner of a worktree: reads the files that changed, and builds the trees above them.

The state that a file had when it was stored is remembered, so that only a file whose state differs is read again.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.system import files, safe_paths
from holdfast.system.git.command import Git, zsplit
from holdfast.system.git.repository import BLOB, Entry, Repository
from holdfast.worktree.metadata import (
    EXECUTABLE,
    FILE,
    LINK,
    READING,
    Seen,
    TreeMetadata,
    is_temporary,
    is_within,
    look_of,
    parents,
    zjoin,
)
from holdfast.worktree.packs.object_store import ObjectStore
from holdfast.worktree.scan_directories import Watch, is_settled

SECOND = 1_000_000_000
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # there is no such path, or it leads through a link
FORM = 1  # a memory of another version is discarded: that version may have excluded other files
CONVERTING = ("filter", "ident", "working-tree-encoding")  # attributes by which git stores other bytes than the file's


class Tracked(NamedTuple):
    """Line of `git ls-files -v -s`."""

    tag: bytes
    mode: bytes
    id: bytes
    stage: bytes
    path: bytes

    @property
    def is_skipped(self) -> bool:
        """Check for the skip-worktree bit, which a sparse checkout sets on files that it leaves out."""
        return self.tag in b"Ss"


def parse_tracked(line: bytes) -> Tracked:
    entry, _, path = line.partition(b"\t")
    tag, mode, id, stage = entry.split(b" ")
    return Tracked(tag, mode, id, stage, path)


class Memory(Struct):
    """Result of the last scan: a cache beside the private index, which holds the older part of it."""

    tree: str
    beside: TreeMetadata
    seen: dict[bytes, Seen | None] = {}  # changed since the private index was written; None: removed
    user_index: tuple[int, int, int] | None = None  # signature when `forced` was computed
    staged_index: tuple[int, int, int] | None = None  # signature when `staged` was computed
    staged: str | None = None
    forced: list[bytes] = []  # tracked files that match an ignore rule
    forced_in: str | None = None  # tree of the index in which those were found, by the ignore rules of then
    watch: Watch | None = None
    user_config: list[tuple[int, int, int] | None] = []  # signatures when `user_excludes` was read
    user_excludes: str | None = None
    index: tuple[int, int, int] | None = None  # signature of the private index that belongs to this
    form: int = 0


class Limits(Struct):
    file: int
    total: int
    filtered: bool = True  # False: files with a filter (LFS, git-crypt) are skipped


class Scan(Struct):
    """State of a worktree at one moment. Objects that the repository lacks are pending in the reader."""

    tree: str
    beside: TreeMetadata
    changed: list[bytes]
    memory: Memory
    base: str = ""  # the tree that `changed` is relative to


class Scanner:
    """One scan of a worktree."""

    def __init__(
        self, object_store: ObjectStore, directory: Path, borders: tuple[bytes, ...], memory: Memory, limits: Limits
    ) -> None:
        self.object_store = object_store
        self.root = os.fsencode(object_store.git.root)
        self.reader = object_store.reader
        self.memory = memory
        self.limits = limits
        self.budget = limits.total
        self.indexed: set[bytes] = set()  # paths that git reported as differing from the private index
        self.beside = memory.beside
        self.changes: dict[bytes, Entry | None] = {}
        self.seen = dict(memory.seen)
        self._directory = directory
        self._borders = borders
        self._left_out = memory.beside.skipped  # by the scan before
        self._way = safe_paths.Way(self.root)

    def scan_paths(self, paths: Iterable[bytes]) -> None:
        """Scan these paths, and assume that nothing else has changed."""
        # safeguard: nested-git-in-scan
        ours = (path for path in dict.fromkeys(paths) if not is_within(path, self._borders))
        found = {path: status for path in ours if (status := self._look(path))}
        withheld = set() if self.limits.filtered else find_filtered(self.object_store.git, self._directory, found)
        for path, status in found.items():
            if path in withheld or status.st_size > min(self.limits.file, self.budget):
                self._skip(path, status.st_size)
            else:
                self._store(path, status)
        for path in [path for path in self.beside.skipped if not found.keys().isdisjoint(parents(path))]:
            del self.beside.skipped[path]  # a directory above it has become a file

    def scan_all(self, paths: list[bytes], include: Iterable[bytes]) -> None:
        """Scan everything that may have changed: candidates, included files and remembered ones."""
        self.scan_paths([*paths, *include, *self.memory.seen])

    def note_surroundings(self, empty: Iterable[bytes], links: Iterable[bytes]) -> None:
        """Replace the metadata of directories. `skipped` starts empty: the scan finds the skipped files again."""
        self.beside.empty, self.beside.links, self.beside.skipped = sorted(empty), {}, {}
        for path in sorted(links):
            self._note_repository(path)

    def result(self) -> Scan:
        tree = self.object_store.edit(self.memory.tree, self.changes)
        memory = msgspec.structs.replace(self.memory, tree=tree, beside=self.beside, seen=self.seen)
        return Scan(tree, self.beside, sorted(self.changes), memory, self.memory.tree)

    def _note_repository(self, path: bytes) -> None:
        """Record the HEAD of a nested repository; its files are not ours."""
        full = self.root + b"/" + path
        self.beside.links[path] = ""
        try:
            place = safe_paths.name_of(self._way.to(path), full + b"/.")
        except OSError:  # removed, or replaced by a link
            return
        if not os.path.isdir(place + b"/.git"):  # a `.git` file, whose target refers to the real path
            place = full
        with contextlib.suppress(HoldfastError, OSError):  # an odd nested repository must not prevent a checkpoint
            self.beside.links[path] = Repository(Path(os.fsdecode(place))).head().commit or ""

    def note_tracked(
        self, tracked: list[Tracked], index_time: int, sizes: dict[bytes, bytes], converted: set[bytes]
    ) -> None:
        """Record the permission bits of every tracked file, once; later scans look only at changed files.

        For `converted` files, and those whose size differs from the blob's, git stores other bytes.
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
        """Return the status of a file that must be read; None if it is unchanged or no file."""
        try:
            status = self._status(path)
        except OSError:
            self._leave_out(path)
            return None
        if status is None or not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)) or is_temporary(path):
            self._remove(path)
            return None
        before = self.memory.seen.get(path)
        return None if before is not None and before.look == look_of(status) else status

    def _status(self, path: bytes) -> os.stat_result | None:
        """Return the status of a path; None if it does not exist or is behind a link. Other errors are raised."""
        directory, _, name = path.rpartition(b"/")
        try:
            return os.lstat(name, dir_fd=self._way.to(directory))  # safeguard: stat-behind-link
        except OSError as error:
            if error.errno not in GONE:
                raise
            return None

    def _leave_out(self, path: bytes) -> None:
        """Skip an inaccessible path if it is known: it still exists, and may have changed."""
        before = self._before(path)
        if before is not None:
            self._skip(path, len(self.reader.read(before[1]) or b""))
        elif path in self._left_out:
            self._skip(path, self._left_out[path])

    def _skip(self, path: bytes, size: int) -> None:
        """Exclude a file. Its older version leaves the tree as well, as a restore would overwrite the file with it."""
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
        id = self.object_store.add(BLOB, data)
        mode = LINK if stat.S_ISLNK(status.st_mode) else EXECUTABLE if status.st_mode & 0o100 else FILE
        settled = is_settled(status.st_mtime_ns, status.st_ctime_ns, time.time_ns())
        before = self._before(path)
        self.seen[path] = Seen(mode, id, look_of(status) if settled else None)
        self.beside.note_mode(path, status.st_mode)
        self.beside.skipped.pop(path, None)
        if before is None:
            for below in self.known_below(path):  # of the directory before; git cannot look behind a link to report it
                self.seen[below] = None
        if before != (mode, id):
            self.changes[path] = Entry(mode, b"", id)

    def _read(self, path: bytes, *, is_link: bool) -> bytes:
        directory, _, name = path.rpartition(b"/")
        way = self._way.to(directory)
        if is_link:
            return os.readlink(name, dir_fd=way)
        descriptor = os.open(name, READING, dir_fd=way)
        with open(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "is not a regular file any more")
            return file.read()

    def known_below(self, directory: bytes) -> Iterator[bytes]:
        """Yield the files below a directory in the remembered tree."""
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
            self.seen[path] = None  # the private index may still hold it, and hide that the same file came back
        if before is not None:
            self.changes[path] = None

    def _before(self, path: bytes) -> tuple[int, str] | None:
        """Return mode and id of a file in the remembered tree."""
        if path in self.memory.seen:
            before = self.memory.seen[path]
            return (before.mode, before.id) if before else None
        entry = self.reader.find(self.memory.tree, path)  # the index may hold files that git could not read since
        return (entry.mode, entry.id) if entry and not entry.is_tree else None


# Attributes: files of which git stores other bytes, as with LFS and git-crypt. No filter is ever run.


def find_filtered(git: Git, directory: Path, paths: Iterable[bytes]) -> set[bytes]:
    """Return those of the paths that have a filter."""
    return _having(("filter",), git, directory, list(paths), b"")


def find_converted(git: Git, directory: Path, paths: Iterable[bytes], own: Path | None) -> set[bytes]:
    """Return those of which git may store other bytes of the same length. `own` is `info/attributes`."""
    return _having(CONVERTING, git, directory, list(paths), _read_attributes(own) if own else b"")


def _having(names: tuple[str, ...], git: Git, directory: Path, paths: list[bytes], own: bytes) -> set[bytes]:
    """Return the paths with one of the attributes. Git runs in a directory that does not switch attributes off."""
    wanted = [name.encode() for name in names]
    directories = {b"", *itertools.chain.from_iterable(map(parents, paths))}
    sources = (git.root / os.fsdecode(above) / ".gitattributes" for above in directories)
    texts = itertools.chain([own], map(_read_attributes, sources))
    if not any(name in text for text in texts for name in wanted):
        return set()
    plain = Git(directory / "plain", git.root, git.objects, git.index, git.form, whole=True)
    plain.prepare()
    if own:
        files.write(plain.directory / "info" / "attributes", own)
    else:
        files.remove(plain.directory / "info" / "attributes")
    raw = zsplit(plain.run("check-attr", "-z", "--stdin", *names, input=zjoin(paths)))
    return {path for path, value in zip(raw[::3], raw[2::3], strict=True) if value not in (b"unspecified", b"unset")}


def _read_attributes(path: Path) -> bytes:
    try:
        return files.read(path) or b""
    except HoldfastError:  # not a regular file
        return b""
