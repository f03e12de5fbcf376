"""A backup file: the parts of a store in one compressed tar, with a manifest of their hashes at its end.

It is written under a temporary name, read back and then renamed. Each part is compressed by itself, and parts that
never change come first, so the next backup to the same place resumes a killed one. A reader extracts the parts to
places chosen by the caller, who may use them only after the manifest has confirmed all of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
from msgspec import Struct

from holdfast.core.errors import Busy, Damaged, NotFound, Refused
from holdfast.core.text import path_text
from holdfast.system import files

MANIFEST = "manifest.json"
DATABASE = "journal.db"
REFS = "refs.json"
IMMUTABLE = "packs/"  # prefix of the names of parts whose content never changes
NAME = re.compile(
    r"journal\.db|refs\.json|packs/pack-[0-9a-f]{40,64}\.(pack|idx)|inbox/(aside/)?[0-9A-Za-z][0-9A-Za-z._-]{0,127}"
    r"|faces/[0-9a-f]{32}/[0-9]{8}-[0-9a-f]{64}|(exported|deleted)/[0-9a-z][0-9a-z._-]{0,135}"
    r"|carried/[0-9a-z][0-9a-z._-]{0,127}/[0-9A-Za-z][0-9A-Za-z._-]{0,127}"
)
MANIFEST_LIMIT = 32 * 1024 * 1024
CHUNK = 1 << 20
LONGEST_NAME = 1024
BROKEN = (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError)
KEPT = 2  # of each kind
UPGRADED, REPLACED = "format-", "replaced-"  # prefixes of the names of backups made by a migration, and by a restore
ROTATED = re.compile(r".*-([0-9]{8}-[0-9]{6})(?:-([0-9]{1,9}))?\.tar\.gz")  # names of earlier versions have no number


class Part(NamedTuple):
    name: str
    path: Path


class Hashed(Struct):
    size: int
    sha256: str


class Contents(Struct):
    """The manifest of a backup."""

    format: int  # of the database in it
    made: str  # time, UTC
    rows: dict[str, int]  # row counts of the tables
    ledgers: int = 0  # rows of hidden runs
    parts: dict[str, Hashed] = {}
    version: int = 1  # of the form of backup files


def write_archive(target: Path, parts: Iterable[Part], about: Contents, progress: Callable[[int], None]) -> Contents:
    """Write a backup, and read it back before it gets its name. `progress` gets the number of bytes added."""
    partial = partial_path(target)
    with files.os_errors(target):
        opened = _open_partial(partial)
        try:
            with open(opened, "r+b") as file:
                about.parts = _fill(file, list(parts), about, progress)
                file.flush()
                os.fsync(file.fileno())  # safeguard: sync-backup
            read_archive(partial, lambda _: None)
            os.rename(partial, target)
            files.sync_directory(target.parent)  # safeguard: sync-backup-name
        except KeyboardInterrupt:  # the next backup may resume it
            raise
        except BaseException:
            files.remove(partial)
            raise
    return about


def partial_path(target: Path) -> Path:
    """The temporary name of a backup."""
    return target.with_name(f".{target.name}.part")


def remove_partial(directory: Path) -> None:
    """Remove partial backups where each backup has a new name, so that none is ever resumed."""
    for path in directory.glob(".*.part"):
        files.remove(path)


def _open_partial(path: Path) -> int:
    """Open the partial file of a killed backup if it is the user's own; otherwise a new one."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_nlink != 1:
            os.unlink(path)
    descriptor = os.open(path, flags, files.PRIVATE_FILE)
    os.fchmod(descriptor, files.PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # safeguard: lock-backup-file
    except BlockingIOError:
        os.close(descriptor)
        raise Busy(
            "Another backup is being written to this file", [("path", path_text(path))], ["give another name"]
        ) from None
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.lstat(path), os.fstat(descriptor)):
            return descriptor
    os.close(descriptor)  # another backup has just completed and renamed it
    return _open_partial(path)


def _fill(file: IO[bytes], parts: list[Part], about: Contents, progress: Callable[[int], None]) -> dict[str, Hashed]:
    immutable = {part.name: part.path for part in parts if part.name.startswith(IMMUTABLE)}
    found, end = _resumable(file, immutable)
    file.seek(end)
    file.truncate()
    for part in sorted(parts, key=lambda part: part.name not in immutable):
        if part.name in found:
            progress(found[part.name].size)
            continue
        with open(part.path, "rb") as source:
            found[part.name] = _add(file, part.name, os.fstat(source.fileno()).st_size, source, progress)
    about.parts = found
    data = msgspec.json.encode(about)
    _add(file, MANIFEST, len(data), BytesIO(data), lambda size: None, end=bytes(2 * tarfile.BLOCKSIZE))
    return found


def _add(
    file: IO[bytes], name: str, size: int, source: IO[bytes], progress: Callable[[int], None], end: bytes = b""
) -> Hashed:
    """Append a part, compressed by itself."""
    digest, head = sha256(), tarfile.TarInfo(name)
    head.size, head.mode = size, files.PRIVATE_FILE
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="") as out:
        out.write(head.tobuf(tarfile.GNU_FORMAT))
        left = size
        while left and (data := source.read(min(CHUNK, left))):
            left -= len(data)
            digest.update(data)
            out.write(data)
            progress(len(data))
        if left:
            raise Damaged("A file was truncated while it was copied", [("part", name)], ["run the command again"])
        out.write(bytes(-size % tarfile.BLOCKSIZE) + end)
    file.flush()  # from here on, a resumed backup keeps this part
    return Hashed(size, digest.hexdigest())


def _resumable(file: IO[bytes], immutable: Mapping[str, Path]) -> tuple[dict[str, Hashed], int]:
    """The complete parts of a partial backup that are still current, and the offset after them."""
    found: dict[str, Hashed] = {}
    end = 0
    while (written := _read_part(file, end)) is not None:
        name, part, after = written
        if name not in immutable or name in found:
            break
        with open(immutable[name], "rb") as source:
            if _take_out(source, None) != part:
                break
        found[name], end = part, after
    return found, end


def _read_part(file: IO[bytes], start: int) -> tuple[str, Hashed, int] | None:
    """The name, hash and end of the part at an offset; None if there is no complete part."""
    file.seek(start)
    unpacking, buffer, size = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), b"", None
    digest, left, name = sha256(), 0, ""
    try:
        while not unpacking.eof:
            data = file.read(CHUNK)
            if not data:
                return None
            buffer += unpacking.decompress(data)
            if size is None and len(buffer) >= tarfile.BLOCKSIZE:
                head = tarfile.TarInfo.frombuf(buffer[: tarfile.BLOCKSIZE], "utf-8", "strict")
                name, size, buffer = head.name, head.size, buffer[tarfile.BLOCKSIZE :]
                left = size
            if size is not None:
                digest.update(buffer[:left])
                left -= min(left, len(buffer))
                buffer = b""
    except BROKEN:
        return None
    if size is None or left:
        return None
    return name, Hashed(size, digest.hexdigest()), file.tell() - len(unpacking.unused_data)


def read_archive(path: Path, place: Callable[[str], Path | None]) -> Contents:
    """Read a whole backup. Each part is extracted to the file that `place` returns for its name, or only hashed."""
    found: dict[str, Hashed] = {}
    about: Contents | None = None
    try:
        with _opened(path) as file, gzip.open(file) as whole:
            for name, source in _members(whole):
                if name == MANIFEST and about is None:
                    about = msgspec.json.decode(source.read(MANIFEST_LIMIT), type=Contents)
                elif NAME.fullmatch(name) and name not in found and about is None:
                    found[name] = _take_out(source, place(name))
                else:
                    raise _unexpected(name)
    except FileNotFoundError as error:
        raise NotFound("There is no such file", [("path", path_text(path))], ["`ls`"]) from error
    except (*BROKEN, msgspec.MsgspecError) as error:
        raise _unreadable(path, error) from error
    except OSError as error:
        if error.errno is None:  # gzip's error for a file of another kind
            raise _unreadable(path, error) from error
        raise
    if about is None or about.parts != found or DATABASE not in found:
        raise _unreadable(path, "its manifest does not match its parts")
    return about


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file; a pipe or a device is refused without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused("This is not a regular file", [("path", path_text(path))], ["name a backup"])
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


class _Section:
    """The content of one part in the archive."""

    def __init__(self, whole: IO[bytes] | gzip.GzipFile, size: int) -> None:
        self._whole = whole
        self._left = size
        self._padding = -size % tarfile.BLOCKSIZE

    def read(self, size: int) -> bytes:
        data = _exactly(self._whole, min(size, self._left))
        self._left -= len(data)
        return data

    def finish(self) -> None:
        if self._left:
            raise ValueError("a part is too long")
        _exactly(self._whole, self._padding)


def _members(whole: IO[bytes] | gzip.GzipFile) -> Iterator[tuple[str, _Section]]:
    """The parts with their names. Other kinds of headers are refused: one could announce a name of gigabytes."""
    name = ""
    while (head := _exactly(whole, tarfile.BLOCKSIZE)).strip(b"\0"):
        member = tarfile.TarInfo.frombuf(head, "utf-8", "strict")
        section = _Section(whole, member.size)
        if member.type == tarfile.GNUTYPE_LONGNAME and not name and 0 < member.size <= LONGEST_NAME:
            name = section.read(member.size).rstrip(b"\0").decode()  # a name of more than 100 bytes
        elif member.type != tarfile.REGTYPE or member.size < 0:
            raise _unexpected(member.name)
        else:
            yield name or member.name, section
            name = ""
        section.finish()
    while data := whole.read(CHUNK):
        if data.strip(b"\0"):
            raise ValueError("data follows its end")


def _exactly(whole: IO[bytes] | gzip.GzipFile, size: int) -> bytes:
    data = whole.read(size) if size else b""
    if len(data) != size:
        raise EOFError("it is truncated")
    return data


def _unexpected(name: str) -> Damaged:
    return Damaged("This backup has an unexpected part", [("name", name)], ["try an earlier one"])


def _unreadable(path: Path, why: Any) -> Damaged:
    facts = [("path", path_text(path)), ("error", why)]
    return Damaged("This is not a backup, or it is damaged", facts, ["try an earlier one"])


def _take_out(source: IO[bytes] | _Section, target: Path | None) -> Hashed:
    digest, size = sha256(), 0
    with contextlib.ExitStack() as stack:
        out = None
        if target is not None:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, files.PRIVATE_FILE)
            out = stack.enter_context(open(descriptor, "wb", buffering=0))
        while data := source.read(CHUNK):
            digest.update(data)
            size += len(data)
            if out is not None:
                files.write_all(out.fileno(), data)
        if out is not None:
            os.fsync(out.fileno())  # safeguard: sync-unpacked-file
    return Hashed(size, digest.hexdigest())


# Automatic backups: ordered by a number, since clocks can be set back


def list_backups(place: Path) -> list[Path]:
    """The automatic backups of a store, newest first."""
    found = [path for path in (place / "backups").glob("*.tar.gz") if not path.name.startswith(".")]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path.name), reverse=True)


def next_place(directory: Path, kind: str, what: str) -> Path:
    """An unused path for the next backup of this kind. The caller is the only one to make one."""
    last = max((_age(path)[0] for path in _found(directory, kind)), default=0)
    return directory / f"{kind}{what}-{last + 1}.tar.gz"


def drop_earlier(made: Path, kind: str) -> None:
    """Remove all but the backup just made and the last one before it."""
    others = [path for path in _found(made.parent, kind) if path.name != made.name]
    for old in sorted(others, key=_age)[: 1 - KEPT]:
        files.remove(old)


def _found(directory: Path, kind: str) -> list[Path]:
    return [path for path in directory.glob(f"{kind}*.tar.gz") if ROTATED.fullmatch(path.name)]


def _age(path: Path) -> tuple[int, str]:
    found = ROTATED.fullmatch(path.name)
    return (int(found[2] or 0), found[1]) if found else (0, "")
