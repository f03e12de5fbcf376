"""Salvage of a damaged pack: each object is read by itself, at the offset in the pack's index.

Git reads a pack from its beginning, and loses everything after an object that it cannot decompress. Here an object is
lost only with its delta base. The index is trusted only for offsets and ids: an object counts if the index has its id.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from holdfast.system.git.objects import TYPE_NUMBER, Format, PackIndex

KINDS = {number: kind for kind, number in TYPE_NUMBER.items()}
DELTA = 6  # type number of a delta whose base is so many bytes before it (`--delta-base-offset`)
LARGEST = 1 << 32  # bytes of an object
KEPT = 64_000_000  # bytes of possible delta bases that are cached
BROKEN = (ValueError, LookupError, struct.error, zlib.error)


class DamagedPack:
    """Pack and its index, either of which may be damaged."""

    def __init__(self, index: Path, form: Format, largest: int = LARGEST) -> None:
        self.names: set[str] = set()
        self.is_whole = False  # the index; then `names` is complete
        self._form = form
        self._largest = largest
        self._ends: dict[int, int] = {}  # offset of an object -> offset of the next one
        self._kept: dict[int, tuple[str, bytes]] = {}
        self._weight = 0
        self._data = _mapped(index.with_suffix(".pack"))
        try:
            table = PackIndex(index, form)
            self._note(table)  # first, as it fails if the count exceeds the size of the file
            self.names.update(table.names())
            self.is_whole = table.is_whole()
        except (OSError, *BROKEN):  # missing or truncated
            return

    def objects(self) -> Iterator[tuple[str, tuple[str, bytes]]]:
        """Yield every readable object: its id, and its kind and content."""
        for at in self._ends:
            try:
                kind, data = self._read(at)
            except BROKEN:
                continue
            id = self._form.id_of(kind, data)
            if id in self.names:
                yield id, (kind, data)

    def _note(self, table: PackIndex) -> None:
        end = len(self._data) - self._form.size
        starts = sorted({at for at in table.offsets() if at < end})
        self._ends = dict(zip(starts, [*starts[1:], end], strict=True))

    def _read(self, at: int) -> tuple[str, bytes]:
        """Read an object and its chain of delta bases, each of which precedes it."""
        deltas: list[tuple[int, bytes]] = []
        while at not in self._kept:
            number, size, start = self._head(at)
            before, start = _distance(self._data, start) if number == DELTA else (0, start)
            data = self._expanded(start, self._ends[at], size)
            if number in KINDS:
                self._keep(at, KINDS[number], data)
            elif number == DELTA and before:
                deltas.append((at, data))
                at -= before
            else:
                raise ValueError("not an object")
        kind, data = self._kept[at]
        for place, delta in reversed(deltas):
            data = patched(data, delta, self._largest)
            self._keep(place, kind, data)
        return kind, data

    def _head(self, at: int) -> tuple[int, int, int]:
        """Return the type number of an object, its size, and where its data begins."""
        byte = self._data[at]
        number, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            if size > self._largest:
                raise ValueError("absurd size")
        return number, size, at + 1

    def _expanded(self, start: int, end: int, size: int) -> bytes:
        decoder = zlib.decompressobj()
        data = decoder.decompress(self._data[start:end], size + 1)
        if not decoder.eof or len(data) != size:
            raise ValueError("an object has another size than declared")
        return data

    def _keep(self, at: int, kind: str, data: bytes) -> None:
        if self._weight > KEPT:
            self._kept.clear()
            self._weight = 0
        self._kept[at] = (kind, data)
        self._weight += len(data)


def _mapped(path: Path) -> mmap.mmap | bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return b""
    try:
        return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    except ValueError:  # empty
        return b""
    finally:
        os.close(file)


def _distance(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    """Return the distance of a delta to its base, and where its data begins."""
    byte = data[at]
    found = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        found = (found + 1) << 7 | byte & 0x7F
        if found > LARGEST << 8:
            raise ValueError("absurd distance")
    return found, at + 1


def patched(base: bytes, delta: bytes, largest: int) -> bytes:
    """Apply a delta of git's to its base."""
    size, at = _number(delta, 0)
    length, at = _number(delta, at)
    if size != len(base) or length > largest:
        raise ValueError("a delta does not fit its base")
    out = bytearray()
    while at < len(delta) and len(out) <= length:
        code = delta[at]
        at += 1
        if code & 0x80:
            start, at = _sparse(delta, at, code & 0x0F, 4)
            many, at = _sparse(delta, at, code >> 4 & 0x07, 3)
            out += base[start : start + (many or 0x10000)]
        else:
            out += delta[at : at + code]
            at += code
    if len(out) != length:
        raise ValueError("a delta makes another size than declared")
    return bytes(out)


def _number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return found, at
        if shift > 63:
            raise ValueError("absurd number")


def _sparse(data: bytes, at: int, there: int, most: int) -> tuple[int, int]:
    """Read a number of which only the non-zero bytes are stored."""
    found = 0
    for number in range(most):
        if there >> number & 1:
            found |= data[at] << 8 * number
            at += 1
    return found, at
