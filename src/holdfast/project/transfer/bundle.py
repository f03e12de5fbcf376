"""Bundles: an exported run in one file, with its parts, a manifest and a digest.

    holdfast-run 1, a newline; the parts; the manifest in JSON; its length in 8 bytes; the SHA-256 of all that in 32

`opened` verifies the whole file before it returns anything. A bundle can still be hostile, so nothing is expanded
beyond the sizes in the manifest and the limit of the caller.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import accumulate
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import Damaged, HoldfastError, Refused
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files, safe_paths
from holdfast.system.files import open_regular

MAGIC = b"holdfast-run 1\n"
LENGTH, DIGEST = 8, 32
CHUNK = 1 << 20
MOST_MANIFEST, MOST_PARTS = 1 << 20, 1000
RATIO, FREE = 100, 1 << 26  # a part that expands to more than FREE bytes may be compressed at most RATIO-fold
PLAIN, SQUEEZED = "plain", "zlib"


class Part(Struct):
    name: str
    form: str  # `plain` or `zlib`
    size: int  # in the file
    length: int  # expanded
    sha256: str  # of the bytes in the file


class Manifest(Struct):
    run: str
    made: datetime
    by: str  # the version of Holdfast
    events: int
    fold: int  # the version of the fold that made `state`
    redacted: bool
    counts: dict[str, int] = {}  # redacted secrets by kind
    form: str | None = None  # the object format, sha1 or sha256; null: without code
    checkpoints: int = 0
    parts: list[Part] = []


class Outgoing:
    def __init__(self, descriptor: int) -> None:
        self._file = descriptor
        self.parts: list[Part] = []
        files.write_all(descriptor, MAGIC)

    def add(self, name: str, make: Callable[[], Iterable[bytes]]) -> None:
        """Add a part. It is stored uncompressed if its ratio would look like a decompression bomb."""
        start = os.lseek(self._file, 0, os.SEEK_CUR)
        for form in (SQUEEZED, PLAIN):
            part = None
            try:
                part = self._write(name, form, make())
            finally:
                if part is None or _is_bomb(part):
                    os.ftruncate(self._file, start)
                    os.lseek(self._file, start, os.SEEK_SET)
            if not _is_bomb(part):
                self.parts.append(part)
                return

    def add_plain(self, name: str, chunks: Iterable[bytes]) -> None:
        """Add a part with a compression of its own."""
        self.parts.append(self._write(name, PLAIN, chunks))

    def seal(self, manifest: Manifest) -> str:
        """Write the manifest and the digest of the whole file, and return the digest."""
        manifest.parts = self.parts
        told = msgspec.json.encode(manifest)
        files.write_all(self._file, told + len(told).to_bytes(LENGTH))
        digest = _digest_of(self._file, os.lseek(self._file, 0, os.SEEK_CUR))
        files.write_all(self._file, digest)
        return digest.hex()

    def _write(self, name: str, form: str, chunks: Iterable[bytes]) -> Part:
        part, state = Part(name, form, 0, 0, ""), hashlib.sha256()
        encoder = zlib.compressobj() if form == SQUEEZED else None

        def put(data: bytes) -> None:
            files.write_all(self._file, data)
            state.update(data)
            part.size += len(data)

        for data in chunks:
            part.length += len(data)
            put(encoder.compress(data) if encoder else data)
        if encoder:
            put(encoder.flush())
        part.sha256 = state.hexdigest()
        return part


@contextlib.contextmanager
def written(path: Path) -> Iterator[Outgoing]:
    """Write a bundle atomically and durably, with a private mode. A file that is no bundle is not replaced.

    The directory is held open, so that a change of its path meanwhile has no effect.
    """
    temporary = f".{path.name[:200]}.{os.urandom(6).hex()}"
    with files.os_errors(path):
        with _named(path):
            directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with safe_paths.held_by(directory, path) as place:
            _refuse_to_replace(place, path)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            with _named(path):
                descriptor = os.open(temporary, flags, files.PRIVATE_FILE, dir_fd=directory)
            try:
                os.fchmod(descriptor, files.PRIVATE_FILE)
                yield Outgoing(descriptor)
                os.fsync(descriptor)  # safeguard: sync-export
                # safeguard: export-place-swapped
                _refuse_to_replace(place, path)  # a file may have appeared while we wrote
                with _named(path):
                    os.rename(temporary, path.name, src_dir_fd=directory, dst_dir_fd=directory)
                os.fsync(directory)  # safeguard: sync-export-name
            finally:
                os.close(descriptor)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=directory)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the requested path into an OSError, instead of the name relative to a descriptor."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _refuse_to_replace(place: Path, path: Path) -> None:
    if not os.path.lexists(place):
        return
    with contextlib.suppress(HoldfastError), open_regular(place) as file:
        if os.pread(file, len(MAGIC), 0) == MAGIC:
            return
    raise Refused("There is another file at this path", [("path", path)], ["name a file that does not exist yet"])


class Incoming:
    """A bundle with a verified digest. Its content is still untrusted."""

    def __init__(self, descriptor: int, manifest: Manifest) -> None:
        self._file = descriptor
        self.manifest = manifest
        ends = accumulate((part.size for part in manifest.parts), initial=len(MAGIC))
        self._parts = {part.name: (part, start) for part, start in zip(manifest.parts, ends, strict=False)}

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def read(self, name: str) -> Iterator[bytes]:
        """Read and expand a part. It is verified again, since the file may change while it is open."""
        part, start = self._parts[name]
        state, length, decoder = hashlib.sha256(), 0, zlib.decompressobj()
        for data in _chunks(self._file, start, start + part.size):
            state.update(data)
            for piece in [data] if part.form == PLAIN else _expanded(decoder, data):
                length += len(piece)
                if length > part.length:
                    raise _broken(f"{name} is longer than the manifest says")
                yield piece
        if length != part.length or state.hexdigest() != part.sha256 or (part.form != PLAIN and not decoder.eof):
            raise _broken(f"{name} is not what the manifest says")

    def lines(self, name: str, longest: int) -> Iterator[bytes]:
        """Read the lines of a part; a line longer than `longest` is refused."""
        left = b""
        for piece in self.read(name):
            *whole, left = (left + piece).split(b"\n")
            yield from whole
            if len(left) > longest:
                raise _broken(f"a line of {name} is too long")
        if left:
            raise _broken(f"{name} is truncated")


@contextlib.contextmanager
def opened(path: Path, most: int) -> Iterator[Incoming]:
    """Open and verify a bundle. Refused if it expands to more than `most` bytes."""
    with open_regular(path) as file, files.os_errors(path):
        size = os.fstat(file).st_size
        end = size - DIGEST
        if os.pread(file, len(MAGIC), 0) != MAGIC or end < len(MAGIC) + LENGTH:
            raise _broken("it does not begin like an exported run")
        if _digest_of(file, end) != os.pread(file, DIGEST, end):
            raise _broken("its digest does not match its content")
        manifest, start = _manifest(file, end - LENGTH)
        _check_sizes(manifest, start, most)
        incoming = Incoming(file, manifest)
        for part in manifest.parts:
            for _ in incoming.read(part.name):
                pass
        yield incoming


def _manifest(file: int, end: int) -> tuple[Manifest, int]:
    length = int.from_bytes(os.pread(file, LENGTH, end))
    if length > min(MOST_MANIFEST, end - len(MAGIC)):
        raise _broken("its manifest is too long")
    try:
        return msgspec.json.decode(os.pread(file, length, end - length), type=Manifest), end - length
    except UNREADABLE as error:
        raise _broken("its manifest cannot be read") from error


def _check_sizes(manifest: Manifest, end: int, most: int) -> None:
    parts = manifest.parts
    names = {part.name for part in parts}
    is_odd = any(min(part.size, part.length) < 0 or part.form not in (PLAIN, SQUEEZED) for part in parts)
    if is_odd or len(parts) > MOST_PARTS or len(names) != len(parts) or len(MAGIC) + sum(p.size for p in parts) != end:
        raise _broken("its parts do not match its manifest")
    if sum(part.length for part in parts) > most or any(map(_is_bomb, parts)):
        facts = [("bytes", sum(part.length for part in parts)), ("allowed", most)]
        raise Refused("This file would become too large", facts, ["`holdfast config set store.cap MB` allows more"])


def _is_bomb(part: Part) -> bool:
    return part.form == SQUEEZED and part.length > max(FREE, RATIO * part.size)


def _chunks(file: int, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        data = os.pread(file, min(CHUNK, end - start), start)
        if not data:
            raise _broken("it was truncated while it was read")
        start += len(data)
        yield data


def _digest_of(file: int, end: int) -> bytes:
    state = hashlib.sha256()
    for data in _chunks(file, 0, end):
        state.update(data)
    return state.digest()


def _expanded(decoder: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Decompress in pieces, so that a bomb is detected before it fills the memory."""
    try:
        while True:
            piece = decoder.decompress(data, CHUNK)
            yield piece
            data = decoder.unconsumed_tail
            if decoder.unused_data:
                raise _broken("a part has trailing bytes")
            if not data and len(piece) < CHUNK:
                return
    except zlib.error as error:
        raise _broken("a part cannot be decompressed") from error


def _broken(why: str) -> Damaged:
    return Damaged(f"This is not a complete exported run: {why}", [], ["copy the file again, or export the run again"])
