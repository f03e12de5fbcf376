"""Making a worktree equal to a checkpoint, and proving it.

Only files that differ are touched, each by writing it beside its place and renaming it. Nothing is deleted that no
checkpoint holds: what is in the way and was ignored is moved aside. Killed in the middle, the same call finishes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.beside import Beside
from holdfast.errors import Damaged, Refused
from holdfast.git import Reader, zsplit
from holdfast.looking import LINK, MODULE
from holdfast.objects import Entry, write_pack
from holdfast.shadow import Shadow, literal


class Change(Struct):
    """One path that differs: what a checkpoint holds there (None: nothing), and the permission bits."""

    path: bytes
    entry: Entry | None
    mode: int = 0


class Plan(Struct):
    """All that has to change so that the worktree equals a checkpoint."""

    changes: list[Change]
    make_empty: list[bytes]
    drop_empty: list[bytes]

    @property
    def paths(self) -> list[bytes]:
        return [change.path for change in self.changes]

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.make_empty or self.drop_empty)


class Put(Struct):
    """What was written, removed and moved aside."""

    written: int = 0
    removed: int = 0
    moved_aside: list[str] = []


def plan_restore(
    shadow: Shadow, now: tuple[str, Beside], then: tuple[str, Beside], paths: Iterable[bytes] = ()
) -> Plan:
    """What differs between two states of a worktree, within some paths if they are given."""
    wanted = list(paths)
    tree, beside = then
    changes = {change.path: change for change in _differing(shadow, now[0], tree, wanted)}
    skipped = beside.skipped.keys() | now[1].skipped.keys()
    for change in changes.values():
        if change.entry is not None:
            change.mode = beside.mode_of(change.path, change.entry.mode == 0o100755)
    for path in beside.modes.keys() ^ now[1].modes.keys() | _unequal(beside.modes, now[1].modes):
        if path not in changes and _within(path, wanted):
            entry = shadow.reader.find(tree, path)
            if entry is not None:
                changes[path] = Change(path, entry, beside.mode_of(path, entry.mode == 0o100755))
    here, there = set(now[1].empty), set(beside.empty)
    return Plan(
        [changes[path] for path in sorted(changes) if path not in skipped],
        sorted(path for path in there - here if _within(path, wanted)),
        sorted((path for path in here - there if _within(path, wanted)), reverse=True),
    )


def apply_plan(shadow: Shadow, plan: Plan, aside: Path) -> Put:
    """Carry a plan out. Removals come first, so that a file can stand where a directory was."""
    done = Put(moved_aside=[])
    putting = Putting(shadow.root, shadow.reader, aside, done)
    for change in reversed(plan.changes):
        if change.entry is None:
            putting.remove(change.path)
    for path in plan.drop_empty:
        putting.drop_directory(path)
    for change in plan.changes:
        if change.entry is not None:
            putting.write(change)
    for path in plan.make_empty:
        putting.make_directory(path)
    putting.settle()
    return done


class Putting:
    """Writes into a worktree without following a link out of it."""

    def __init__(self, root: Path, reader: Reader, aside: Path, done: Put) -> None:
        self.root = os.fsencode(root)
        self.reader = reader
        self.aside = os.fsencode(aside)
        self.done = done
        self._touched: set[bytes] = set()

    def remove(self, path: bytes) -> None:
        full = self._full(path)
        if not self._parents_are_real(path):
            return
        try:
            status = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISDIR(status.st_mode):
            return
        os.unlink(full)
        self.done.removed += 1
        self._touched.add(os.path.dirname(full))
        self._prune(os.path.dirname(path))

    def write(self, change: Change) -> None:
        entry = change.entry
        assert entry is not None
        if entry.mode == MODULE:
            return  # a submodule's own repository is not ours to move
        self._make_parents(change.path)
        full = self._full(change.path)
        self._clear_the_way(change.path)
        if entry.mode != LINK and self._only_mode_differs(full, entry):
            os.chmod(full, change.mode)
            self.done.written += 1
            return
        data = self.reader.read(entry.id)
        if data is None:
            raise Damaged(
                "A file of the checkpoint is missing", [("path", os.fsdecode(change.path)), ("blob", entry.id)]
            )
        temporary = os.path.dirname(full) + b"/.holdfast-" + os.urandom(6).hex().encode()
        try:
            if entry.mode == LINK:
                os.symlink(data, temporary)
            else:
                _write_file(temporary, data, change.mode)
            os.rename(temporary, full)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        self.done.written += 1
        self._touched.add(os.path.dirname(full))

    def make_directory(self, path: bytes) -> None:
        self._make_parents(path + b"/x")

    def drop_directory(self, path: bytes) -> None:
        self._prune(path)

    def settle(self) -> None:
        """Sync every directory whose entries changed."""
        for directory in self._touched:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def _full(self, path: bytes) -> bytes:
        parts = path.split(b"/")
        if not path or b".." in parts or b"" in parts or b"." in parts or parts[0] in (b".git", b".holdfast"):
            raise Refused("A checkpoint names a path that is not inside the worktree", [("path", os.fsdecode(path))])
        return self.root + b"/" + path

    def _only_mode_differs(self, full: bytes, entry: Entry) -> bool:
        try:
            status = os.lstat(full)
            if not stat.S_ISREG(status.st_mode):
                return False
            with open(full, "rb") as file:
                return self.reader.is_blob(entry.id, file.read())
        except OSError:
            return False

    def _make_parents(self, path: bytes) -> None:
        at = b""
        for part in path.split(b"/")[:-1]:
            at = at + b"/" + part if at else part
            full = self._full(at)
            try:
                if stat.S_ISDIR(os.lstat(full).st_mode):
                    continue
                self._move_aside(at)
            except FileNotFoundError:
                pass
            os.mkdir(full)
            self._touched.add(os.path.dirname(full))

    def _parents_are_real(self, path: bytes) -> bool:
        """No part of the way is a link, which could lead out of the worktree."""
        at = self.root
        for part in path.split(b"/")[:-1]:
            at += b"/" + part
            try:
                if not stat.S_ISDIR(os.lstat(at).st_mode):
                    return False
            except OSError:
                return False
        return True

    def _clear_the_way(self, path: bytes) -> None:
        """A directory that stands where a file belongs is moved aside, if anything is still in it."""
        full = self._full(path)
        try:
            status = os.lstat(full)
        except FileNotFoundError:
            return
        if stat.S_ISDIR(status.st_mode):
            try:
                os.rmdir(full)
            except OSError:
                self._move_aside(path)
        elif not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            self._move_aside(path)

    def _move_aside(self, path: bytes) -> None:
        target = self.aside + b"/" + path
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        os.rename(self._full(path), target)
        self.done.moved_aside.append(os.fsdecode(path))

    def _prune(self, directory: bytes) -> None:
        """Git knows no empty directories: one that has become empty goes, as `git checkout` would do it."""
        while directory:
            try:
                os.rmdir(self._full(directory))
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                    raise
                return
            directory = os.path.dirname(directory)


def _differing(shadow: Shadow, now: str, then: str, paths: list[bytes]) -> Iterator[Change]:
    limited = ["--", *map(literal, paths)] if paths else []
    with shadow.scratch() as scratch:  # what was only looked at is not on disk
        write_pack(scratch, shadow.reader.pending, shadow.git.form)
        raw = zsplit(shadow.git.run("diff-tree", "-r", "-z", "--no-renames", now, then, *limited, scratch=scratch))
    for line, path in zip(raw[::2], raw[1::2], strict=True):
        _, mode, _, id, _ = line[1:].split(b" ")
        yield Change(path, Entry(int(mode, 8), b"", id.decode()) if int(mode, 8) else None)


def _unequal(one: dict[bytes, int], other: dict[bytes, int]) -> set[bytes]:
    return {path for path in one.keys() & other.keys() if one[path] != other[path]}


def _within(path: bytes, wanted: list[bytes]) -> bool:
    return not wanted or any(path == name or path.startswith(name.rstrip(b"/") + b"/") for name in wanted)


def _write_file(path: bytes, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
