"""Writing into a worktree: never through a link, and nothing is lost.

What stands in the way and is in no checkpoint is moved aside. Few files are written beside their places, synced and
renamed. Many are written into what is there, if it has no other name, and made durable by one sync of their file
system: a rename over a file makes ext4 write it out at once, making files anew takes three times as long, and a sync
each longer than all the rest. Cut off in the middle, either is an unfinished restore, which compares what is there with
the checkpoint again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.text import path_text
from holdfast.system import files, safe_paths
from holdfast.system.files import sync, sync_file_system
from holdfast.system.git.repository import BLOB, Entry, Format
from holdfast.worktree.metadata import Beside, is_temporary
from holdfast.worktree.paths import ALWAYS, is_within
from holdfast.worktree.restore import displaced
from holdfast.worktree.restore.displaced import is_directory
from holdfast.worktree.scan import EXECUTABLE, LINK, Seen, look_of

FEW = 32  # files that are renamed and synced one by one
STILL_USED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR)


IsKept = Callable[[bytes, bytes], bool]  # whether a checkpoint has what is at a path, which stands at a place
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NOTHING_SEEN: Mapping[bytes, Seen | None] = {}


class Put(Struct):
    """What was written and removed; what was moved aside, and where it is now; what came back from there."""

    written: int = 0
    removed: int = 0
    moved_aside: dict[str, str] = {}
    brought_back: list[str] = []
    returned: dict[bytes, bytes] = {}  # what came back, and where it lay; files and links still do

    def has_returned(self, path: bytes) -> bool:
        """Whether it, or a directory that it is in, came back."""
        while path and path not in self.returned:
            path = os.path.dirname(path)
        return bool(path)


class Putting:
    """Writes into a worktree without following a link out of it."""

    def __init__(self, root: Path, held: Path, *, many: bool = False, borders: Iterable[bytes] = ALWAYS) -> None:
        self.root = os.fsencode(root)
        self.borders = tuple(borders)
        self._held = held
        self._attempt = displaced.next_attempt(held)
        self.done = Put(moved_aside={}, brought_back=[], returned={})
        self._many = many
        self._touched: set[bytes] = set()
        self._real: set[bytes] = set()  # directories that were found, or made, on the way to a file
        self._way = safe_paths.Way(self.root)

    def remove(self, path: bytes, kept: Kept | None = None) -> None:
        """Remove a file or link. A directory in its place stays."""
        full, place = self._full(path), self._find_place(path)
        status = _status(place) if place is not None else None
        if place is None or status is None or stat.S_ISDIR(status.st_mode):
            return
        if kept is not None and kept.stands_at(place, status):
            os.unlink(place)
        else:
            self._move_aside(path)
        self.done.removed += 1
        self._touched.add(os.path.dirname(full))
        self.drop_directory(os.path.dirname(path))

    def write(self, path: bytes, data: bytes, mode: int | None, kept: Kept | None = None) -> None:
        """Put a file with these permission bits, or a link where there are none, in its place.

        What stands there is moved aside, unless it is what a checkpoint has `kept`.
        """
        full = self._full(path)
        self._make_parents(path)
        place = self._place(path)
        if self._many:
            self._write_over(place, path, data, mode, kept)
        else:
            self._replace(place, path, data, mode, kept)
        self.done.written += 1
        self._touched.add(os.path.dirname(full))

    def _write_over(self, place: bytes, path: bytes, data: bytes, mode: int | None, kept: Kept | None) -> None:
        stands = self._clear_the_way(place, path, kept)
        if mode is None or not stands or not _overwrite(place, data, mode):
            if stands:
                os.unlink(place)
            self._make(place, data, mode)

    def _replace(self, place: bytes, path: bytes, data: bytes, mode: int | None, kept: Kept | None) -> None:
        """The way is cleared last: to write and sync takes long enough for somebody to save a file there."""
        temporary = displaced.temporary_beside(place)
        try:
            self._make(temporary, data, mode)
            self._clear_the_way(place, path, kept)
            os.rename(temporary, place)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def _make(self, place: bytes, data: bytes, mode: int | None) -> None:
        if mode is None:
            os.symlink(data, place)
        else:
            _write_file(place, data, mode, synced=not self._many)

    def set_mode(self, path: bytes, mode: int, kept: Kept | None = None) -> None:
        """Change the permission bits of a file whose content is right. One that somebody has just saved is left."""
        place = self._find_place(path)
        status = _status(place) if place is not None else None
        if place is None or status is None or (kept is not None and not kept.stands_at(place, status)):
            return
        if not _change_mode(place, mode):
            return
        self.done.written += 1
        try:
            if not self._many:
                sync(place)  # safeguard: sync-restored-mode
        except PermissionError:  # it may not be read, not even by us
            self._many = True
            self._touched.add(os.path.dirname(self._full(path)))

    def make_directory(self, path: bytes) -> None:
        self._full(path)
        self._make_parents(path + b"/x")

    def keep_directory(self, path: bytes) -> None:
        """Make a directory where its place is free."""
        place = self._find_place(path)
        if place is not None and not os.path.lexists(place):
            self.make_directory(path)

    def drop_directory(self, directory: bytes) -> None:
        """Git knows no empty directories: one that has become empty goes, as `git checkout` would do it."""
        while directory and (place := self._find_place(directory)) is not None:
            try:
                os.rmdir(place)
            except OSError as error:
                if error.errno not in STILL_USED:
                    raise
                return
            self._touched.add(os.path.dirname(self._full(directory)))
            directory = os.path.dirname(directory)

    def bring_back(self, attempts: Iterable[bytes], is_kept: IsKept) -> None:
        """Put what was moved aside back, the newest first: where its place is free, or holds what a checkpoint has."""
        for attempt in attempts:
            self._bring_back(attempt, b"", is_kept)

    def clear_leftovers(self, paths: Iterable[bytes]) -> int:
        """Remove the files that a killed restore of these paths was about to rename; answers with how many."""
        removed = 0
        for directory in {os.path.dirname(path) for path in paths}:
            place = self._find_place(directory + b"/x" if directory else b"x")
            for name in filter(is_temporary, os.listdir(os.path.dirname(place)) if place else ()):
                os.unlink(os.path.dirname(place or b"") + b"/" + name)
                removed += 1
        return removed

    def settle(self) -> None:
        """Make all of it durable. Where files of many directories went, a sync of each would take minutes."""
        there = [directory for directory in self._touched if is_directory(directory)]
        if self._many or len(there) > FEW:
            for directory in {os.stat(directory).st_dev: directory for directory in there}.values():
                sync_file_system(directory)  # safeguard: sync-restored-file-system
            return
        for directory in there:  # safeguard: sync-restored-names
            sync(directory)

    def _full(self, path: bytes) -> bytes:
        parts = path.split(b"/")
        # safeguard: path-of-checkpoint
        if b".." in parts or b"" in parts or b"." in parts or is_within(path, self.borders):
            raise Refused(
                "A checkpoint names a path that is not inside the worktree",
                [("path", os.fsdecode(path))],
                ["`holdfast checkpoints` lists others"],
            )
        return self.root + b"/" + path

    def _make_parents(self, path: bytes) -> None:
        directory = os.path.dirname(path)
        if not directory or directory in self._real:
            return
        self._make_parents(directory)
        place = self._place(directory)
        try:
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                self._move_aside(directory)
                os.mkdir(place)
        except FileNotFoundError:
            os.mkdir(place)
        self._touched.add(os.path.dirname(self._full(directory)))
        self._real.add(directory)

    def _find_place(self, path: bytes) -> bytes | None:
        """What stands at a path, by way of its directory, which is held open; None where a link leads there.

        A directory that becomes a link after it was looked at could lead out of the worktree.
        """
        full = self._full(path)
        try:
            return safe_paths.name_of(self._way.to(os.path.dirname(path)), full)
        except OSError:
            return None

    def _place(self, path: bytes) -> bytes:
        place = self._find_place(path)
        if place is None:
            facts = [("path", path_text(os.fsdecode(path)))]
            raise Refused("A directory became a link while we wrote into it", facts, ["run the command again"])
        return place

    def _clear_the_way(self, place: bytes, path: bytes, kept: Kept | None) -> bool:
        """Whether a file or link stands there that may go. All else is moved aside, but for an empty directory."""
        status = _status(place)
        if status is None:
            return False
        if kept is not None and kept.stands_at(place, status):  # safeguard: changed-since-look
            return True
        try:
            os.rmdir(place)
        except OSError:  # it is not empty, or no directory
            self._move_aside(path)
        return False

    def _move_aside(self, path: bytes) -> None:
        """Into the store, under the same path."""
        target = self._room_aside(path)
        displaced.move(self._place(path), target)
        self._touched.add(os.path.dirname(self._full(path)))
        at = os.path.dirname(target)
        while len(at) >= len(os.path.dirname(self._attempt)):
            self._touched.add(at)
            at = os.path.dirname(at)
        self.done.moved_aside[path_text(os.fsdecode(path))] = path_text(os.fsdecode(target))

    def _room_aside(self, path: bytes) -> bytes:
        while (target := displaced.find_room(self._attempt, path)) is None:
            self._attempt = displaced.next_attempt(self._held)
        return target

    def _bring_back(self, held: bytes, inside: bytes, is_kept: IsKept) -> None:
        for name in sorted(os.listdir(held)):
            path = inside + b"/" + name if inside else name
            source, place = held + b"/" + name, self._find_place(path)
            if place is None or is_temporary(name):
                continue
            if is_directory(source):
                self._bring_directory(source, path, place, is_kept)
            elif path not in self.done.returned:
                self._bring_file(source, path, place, is_kept)
        with contextlib.suppress(OSError):  # something has to stay there
            os.rmdir(held)

    def _bring_directory(self, source: bytes, path: bytes, place: bytes, is_kept: IsKept) -> None:
        """As a whole, where its place is free and on the same file system."""
        if not os.path.lexists(place):
            self._touched |= {os.path.dirname(source), os.path.dirname(self._full(path))}
            try:
                os.rename(source, place)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                os.mkdir(place)
            else:
                self._note_returned(path, source)
                return
        if is_directory(place):
            self._bring_back(source, path, is_kept)

    def _bring_file(self, source: bytes, path: bytes, place: bytes, is_kept: IsKept) -> None:
        """What came back before a kill is there already. It lies aside as well until all is done."""
        stands = os.path.lexists(place)
        if not stands or not displaced.is_same(source, place):
            if stands and not is_kept(path, place):
                return
            displaced.put_back(source, place)
        self._touched.add(os.path.dirname(self._full(path)))
        self._note_returned(path, source)

    def _note_returned(self, path: bytes, source: bytes) -> None:
        self.done.brought_back.append(path_text(os.fsdecode(path)))
        self.done.returned[path] = source


def _status(place: bytes) -> os.stat_result | None:
    try:
        return os.lstat(place)
    except FileNotFoundError:
        return None


def _overwrite(full: bytes, data: bytes, mode: int) -> bool:
    """Write into a file that has no other name; making it anew takes three times as long. False where that is not."""
    try:
        descriptor = os.open(full, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link, one that may not be written, or a program that runs
        return False
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return False
        files.write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
        if stat.S_IMODE(status.st_mode) != mode:
            os.fchmod(descriptor, mode)
        return True
    finally:
        os.close(descriptor)


def _change_mode(place: bytes, mode: int) -> bool:
    """Change the bits of a regular file. A link that has just taken its place is not followed."""
    descriptor = os.open(place, safe_paths.LOOKING)
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if is_file:
            os.chmod(os.path.dirname(safe_paths.name_of(descriptor, place + b"/x")), mode)
        return is_file
    finally:
        os.close(descriptor)


def _write_file(path: bytes, data: bytes, mode: int, *, synced: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        files.write_all(descriptor, data)
        os.fchmod(descriptor, mode)
        if synced:  # safeguard: sync-restored-file
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Expected content


class Kept(NamedTuple):
    entry: Entry
    mode: int
    seen: Seen | None
    form: Format

    def stands_at(self, place: bytes, status: os.stat_result) -> bool:
        """Whether this file or link is there. It is read only where it does not look as it did when it was stored."""
        look = self.seen.look if self.seen and self.seen.id == self.entry.id else None
        if look == look_of(status):
            return True
        if stat.S_ISLNK(status.st_mode) != (self.entry.mode == LINK) or (look and look[0] != status.st_size):
            return False
        if self.entry.mode != LINK and stat.S_IMODE(status.st_mode) != self.mode:
            return False
        data = _content(place, status)
        return data is not None and self.form.id_of(BLOB, data) == self.entry.id


def kept_at(
    path: bytes, entry: Entry | None, beside: Beside, seen: Mapping[bytes, Seen | None], form: Format
) -> Kept | None:
    if entry is None or entry.is_tree:
        return None
    return Kept(entry, beside.mode_of(path, entry.mode == EXECUTABLE), seen.get(path), form)


def _content(place: bytes, status: os.stat_result) -> bytes | None:
    """What a file or link holds; None where nobody can say."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(place)
        with open(os.open(place, READING), "rb", buffering=0) as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None
