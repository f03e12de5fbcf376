"""Write a restored state into a worktree: never through a link, and without losing data.

A file in the way that is in no checkpoint is moved to the store (displaced). Few files are written beside their places,
synced and renamed. Many are overwritten in place, if they have no other name, and made durable by one sync of their
file system: a rename over a file makes ext4 write it out at once, new files take three times as long, and a sync of
each longer than all the rest. After a kill, either is an unfinished restore, which compares the worktree with the
checkpoint again.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.text import path_text
from holdfast.system import files, safe_paths
from holdfast.system.files import sync, sync_file_system
from holdfast.worktree.metadata import ALWAYS, TEMPORARY, Kept, is_temporary, is_within

FEW = 32  # files up to which each is renamed and synced
STILL_USED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR)

IsKept = Callable[[bytes, bytes], bool]  # of a path and its place: does a checkpoint have its content?


class Written(Struct):
    """Counts and paths of a restore: written, removed, displaced (with the place in the store) and brought back."""

    written: int = 0
    removed: int = 0
    moved_aside: dict[str, str] = {}
    brought_back: list[str] = []
    returned: dict[bytes, bytes] = {}  # brought back -> displaced copy; that of a file or link is still there

    def has_returned(self, path: bytes) -> bool:
        """Check whether a path, or a directory above it, came back."""
        while path and path not in self.returned:
            path = os.path.dirname(path)
        return bool(path)


class WorktreeWriter:
    """Writer into a worktree that follows no link out of it."""

    def __init__(self, root: Path, held: Path, *, many: bool = False, borders: Iterable[bytes] = ALWAYS) -> None:
        self.root = os.fsencode(root)
        self.borders = tuple(borders)
        self._held = held
        self._attempt = next_attempt(held)
        self.done = Written(moved_aside={}, brought_back=[], returned={})
        self._many = many
        self._touched: set[bytes] = set()
        self._real: set[bytes] = set()  # directories that exist and are no links
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
        """Write a file with these permission bits, or a link if there are none.

        The present file is displaced, unless it is the one that a checkpoint has (`kept`).
        """
        full = self._full(path)
        self._make_parents(path)
        place = self._place(path)
        if not self._many:
            self._replace(place, path, data, mode, kept)
        else:
            stands = self._clear_the_way(place, path, kept)
            if mode is None or not stands or not _overwrite(place, data, mode):
                if stands:
                    os.unlink(place)
                self._make(place, data, mode)
        self.done.written += 1
        self._touched.add(os.path.dirname(full))

    def _replace(self, place: bytes, path: bytes, data: bytes, mode: int | None, kept: Kept | None) -> None:
        """Write, sync and rename. The present file is checked last, as it may be saved during a slow sync."""
        temporary = temporary_beside(place)
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
            files.write_new(place, data, mode, synced=not self._many)

    def set_mode(self, path: bytes, mode: int, kept: Kept | None = None) -> None:
        """Change the permission bits of a file with the right content; one that was changed meanwhile is left."""
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
        except PermissionError:  # no permission to read
            self._many = True
            self._touched.add(os.path.dirname(self._full(path)))

    def make_directory(self, path: bytes) -> None:
        self._full(path)
        self._make_parents(path + b"/x")

    def keep_directory(self, path: bytes) -> None:
        """Make a directory, if nothing is in its place."""
        place = self._find_place(path)
        if place is not None and not os.path.lexists(place):
            self.make_directory(path)

    def drop_directory(self, directory: bytes) -> None:
        """Remove a directory that has become empty, and those above it, as `git checkout` does."""
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
        """Return displaced files, newest first, to places that are free or hold what a checkpoint has."""
        for attempt in attempts:
            self._bring_back(attempt, b"", is_kept)

    def clear_leftovers(self, paths: Iterable[bytes]) -> int:
        """Remove temporary files of a killed restore of these paths. Returns their number."""
        removed = 0
        for directory in {os.path.dirname(path) for path in paths}:
            place = self._find_place(directory + b"/x" if directory else b"x")
            for name in filter(is_temporary, os.listdir(os.path.dirname(place)) if place else ()):
                os.unlink(os.path.dirname(place or b"") + b"/" + name)
                removed += 1
        return removed

    def settle(self) -> None:
        """Make everything durable; one sync per file system if directories are many, as single ones take minutes."""
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
            facts = [("path", os.fsdecode(path))]
            hints = ["`holdfast checkpoints` lists others"]
            raise Refused("A checkpoint names a path that is not inside the worktree", facts, hints)
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
        """Return a path by way of its directory, which is held open; None if it is behind a link.

        A directory that is replaced by a link after it was checked could lead out of the worktree.
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
            raise Refused("A directory was replaced by a link during the restore", facts, ["run the command again"])
        return place

    def _clear_the_way(self, place: bytes, path: bytes, kept: Kept | None) -> bool:
        """Displace whatever may not be overwritten. Returns whether a file or link is left that may be."""
        status = _status(place)
        if status is None:
            return False
        if kept is not None and kept.stands_at(place, status):  # safeguard: changed-since-look
            return True
        try:
            os.rmdir(place)
        except OSError:  # not empty, or no directory
            self._move_aside(path)
        return False

    def _move_aside(self, path: bytes) -> None:
        """Move to the store, under the same path."""
        while (target := find_room(self._attempt, path)) is None:
            self._attempt = next_attempt(self._held)
        move(self._place(path), target)
        self._touched.add(os.path.dirname(self._full(path)))
        at = os.path.dirname(target)
        while len(at) >= len(os.path.dirname(self._attempt)):
            self._touched.add(at)
            at = os.path.dirname(at)
        self.done.moved_aside[path_text(os.fsdecode(path))] = path_text(os.fsdecode(target))

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
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(held)

    def _bring_directory(self, source: bytes, path: bytes, place: bytes, is_kept: IsKept) -> None:
        """Move a directory as a whole, if its place is free and on the same file system; else file by file."""
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
        """Return a file, unless a killed attempt did. The displaced copy stays until the restore has ended."""
        stands = os.path.lexists(place)
        if not stands or not is_same(source, place):
            if stands and not is_kept(path, place):
                return
            put_back(source, place)
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
    """Write into a file without other names, three times as fast as a new file. False if that is impossible."""
    try:
        descriptor = os.open(full, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link, read-only, or a running program
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
    """Change the permission bits of a regular file, without following a link that has just replaced it."""
    descriptor = os.open(place, safe_paths.LOOKING)
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if is_file:
            os.chmod(os.path.dirname(safe_paths.name_of(descriptor, place + b"/x")), mode)
        return is_file
    finally:
        os.close(descriptor)


# Displaced files: each attempt of a restore has a directory of its own, so that nothing there is overwritten. Between
# file systems a file is copied under a temporary name, synced and renamed before the original is removed.


def list_attempts(held: Path) -> list[bytes]:
    """Return the directories of all attempts of a restore, newest first: NAME, and NAME-2, NAME-3 and so on."""
    return [os.fsencode(held.with_name(name)) for _, name in sorted(_numbered(held), reverse=True)]


def next_attempt(held: Path) -> bytes:
    """Return a directory that no earlier attempt has used."""
    last = max((number for number, _ in _numbered(held)), default=0)
    return os.fsencode(held) + (b"-%d" % (last + 1) if last else b"")


def _numbered(held: Path) -> Iterator[tuple[int, str]]:
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(held.parent):
            number = name.removeprefix(f"{held.name}-")
            if name == held.name or (name != number and number.isdecimal()):
                yield 1 if name == held.name else int(number), name


def find_room(attempt: bytes, path: bytes) -> bytes | None:
    """Return a place for a path; None if it is taken, or something above it is no directory."""
    os.makedirs(attempt, exist_ok=True)
    *above, name = path.split(b"/")
    at = attempt
    for directory in above:
        at += b"/" + directory
        with contextlib.suppress(FileExistsError):
            os.mkdir(at)
        # safeguard: linked-displaced-file
        if not is_directory(at):  # a displaced link must not lead out of the store
            return None
    return None if os.path.lexists(at + b"/" + name) else at + b"/" + name


def list_displaced(attempt: bytes) -> Iterator[bytes]:
    """Yield every path in an attempt."""
    for directory, _, names in os.walk(attempt):
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), attempt)


def temporary_beside(place: bytes) -> bytes:
    return os.path.dirname(place) + b"/" + TEMPORARY + os.urandom(6).hex().encode()


def move(source: bytes, target: bytes) -> None:
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_synced(source, target)
        _remove_any(source)


def put_back(source: bytes, place: bytes) -> None:
    """Copy a file or link back atomically. The displaced one stays, as a kill may follow."""
    temporary = temporary_beside(place)
    try:
        os.link(source, temporary, follow_symlinks=False)
        os.rename(temporary, place)
    except OSError:  # another file system, one without hard links, or a file of another user
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        try:
            _copy_synced(source, place)
        except PermissionError:  # no permission to read
            os.rename(source, place)


def remove_displaced(sources: Iterable[bytes], top: Path) -> None:
    """Remove files that were brought back, and the directories below the top that have become empty."""
    for source in sources:
        with contextlib.suppress(OSError):  # one that cannot be removed does no harm
            os.unlink(source)
        with contextlib.suppress(OSError):  # not empty
            while (source := os.path.dirname(source)) != os.fsencode(top):
                os.rmdir(source)


def is_same(source: bytes, place: bytes) -> bool:
    """Check whether two places hold the same file or link."""
    one, other = os.lstat(source), os.lstat(place)
    if os.path.samestat(one, other):
        return True
    if one.st_mode != other.st_mode:
        return False
    if stat.S_ISLNK(one.st_mode):
        return os.readlink(source) == os.readlink(place)
    return stat.S_ISREG(one.st_mode) and filecmp.cmp(source, place, shallow=False)


def is_directory(path: bytes) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _copy_synced(source: bytes, target: bytes) -> None:
    import shutil  # slow to load, and rarely needed

    temporary = temporary_beside(target)
    try:
        if is_directory(source):
            shutil.copytree(os.fsdecode(source), os.fsdecode(temporary), symlinks=True)
            sync_file_system(temporary)
        else:
            shutil.copy2(source, temporary, follow_symlinks=False)
            if not os.path.islink(temporary):
                sync(temporary)
        os.rename(temporary, target)
    except BaseException:
        _remove_any(temporary)
        raise
    sync_file_system(os.path.dirname(target))


def _remove_any(path: bytes) -> None:
    import shutil

    if is_directory(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
