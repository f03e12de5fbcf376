"""What stood in the way of a restore and is in no checkpoint: it lies in the store until `undo` brings it back.

Every attempt of a restore has a directory of its own, so that nothing is put over what lies there. Between file systems
a thing is copied under another name, synced and renamed before the original goes: what has its name is whole.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.system.files import sync, sync_file_system
from holdfast.worktree.metadata import TEMPORARY


def attempts(held: Path) -> list[bytes]:
    """The directories of all attempts of a restore, the newest first: NAME, and NAME-2, NAME-3 and so on."""
    return [os.fsencode(held.with_name(name)) for _, name in sorted(_numbered(held), reverse=True)]


def next_attempt(held: Path) -> bytes:
    """A directory that no earlier attempt has used."""
    last = max((number for number, _ in _numbered(held)), default=0)
    return os.fsencode(held) + (b"-%d" % (last + 1) if last else b"")


def _numbered(held: Path) -> Iterator[tuple[int, str]]:
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(held.parent):
            number = name.removeprefix(f"{held.name}-")
            if name == held.name or (name != number and number.isdecimal()):
                yield 1 if name == held.name else int(number), name


def find_room(attempt: bytes, path: bytes) -> bytes | None:
    """A place for a path; None where something lies there, or something that is no directory above it."""
    os.makedirs(attempt, exist_ok=True)
    *above, name = path.split(b"/")
    at = attempt
    for directory in above:
        at += b"/" + directory
        with contextlib.suppress(FileExistsError):
            os.mkdir(at)
        # safeguard: linked-displaced-file
        if not is_directory(at):  # a link that lies aside must not lead out of the store
            return None
    return None if os.path.lexists(at + b"/" + name) else at + b"/" + name


def paths_in(attempt: bytes) -> Iterator[bytes]:
    """Every path that something lies under."""
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
        _copy(source, target)
        _remove(source)


def put_back(source: bytes, place: bytes) -> None:
    """Let a file or link be in its place too, whole or not at all. It still lies aside, for a kill may follow."""
    temporary = temporary_beside(place)
    try:
        os.link(source, temporary, follow_symlinks=False)
        os.rename(temporary, place)
    except OSError:  # another file system, one without second names, or somebody else's file
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        try:
            _copy(source, place)
        except PermissionError:  # it may not be read, not even by us
            os.rename(source, place)


def drop(sources: Iterable[bytes], top: Path) -> None:
    """Remove what is in its place again, and the directories below the top that nothing lies in any more."""
    for source in sources:
        with contextlib.suppress(OSError):  # one that may not go does no harm
            os.unlink(source)
        with contextlib.suppress(OSError):  # something has to stay there
            while (source := os.path.dirname(source)) != os.fsencode(top):
                os.rmdir(source)


def is_same(source: bytes, place: bytes) -> bool:
    """Whether two places hold the same file or link."""
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


def _copy(source: bytes, target: bytes) -> None:
    import shutil  # takes its time to load, and few need it

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
        _remove(temporary)
        raise
    sync_file_system(os.path.dirname(target))


def _remove(path: bytes) -> None:
    import shutil

    if is_directory(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
