"""What a damaged pack still holds: each object by itself, at the place that the pack's index names.

Git reads a pack from its beginning, and behind an object that it cannot expand it is lost. Here none stands in the way
of another, but for those that are told as a difference to it. The index is believed as to places and names only: an
object counts if its content has a name that the index knows.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from holdfast.system.git.repository import TYPE_NUMBER, Format, PackIndex

KINDS = {number: kind for kind, number in TYPE_NUMBER.items()}
DIFFERENCE = 6  # to an object that stands so many bytes before it, as `git pack-objects --delta-base-offset` writes it
LARGEST = 1 << 32  # bytes of an object
KEPT = 64_000_000  # bytes of objects that others may be differences to
BROKEN = (ValueError, LookupError, struct.error, zlib.error)


class Remains:
    """A pack and its index, either of which may be damaged."""

    def __init__(self, index: Path, form: Format, largest: int = LARGEST) -> None:
        self.names: set[str] = set()
        self.is_whole = False  # the index: then the names are all that there were
        self._form = form
        self._largest = largest
        self._ends: dict[int, int] = {}  # where objects begin, and where the next one does
        self._kept: dict[int, tuple[str, bytes]] = {}
        self._weight = 0
        self._data = _mapped(index.with_suffix(".pack"))
        try:
            table = PackIndex(index, form)
            self._note(table)  # first: if it says that there are more than it has room for, this fails
            self.names.update(table.names())
            self.is_whole = table.is_whole()
        except (OSError, *BROKEN):  # no table, or one that ends too early
            return

    def objects(self) -> Iterator[tuple[str, tuple[str, bytes]]]:
        """Every object that can be read: its name, and its kind and content."""
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
        """An object, put together of what it is a difference to. Each of those stands before it."""
        differences: list[tuple[int, bytes]] = []
        while at not in self._kept:
            number, size, start = self._head(at)
            before, start = _distance(self._data, start) if number == DIFFERENCE else (0, start)
            data = self._expanded(start, self._ends[at], size)
            if number in KINDS:
                self._keep(at, KINDS[number], data)
            elif number == DIFFERENCE and before:
                differences.append((at, data))
                at -= before
            else:
                raise ValueError("this is no object")
        kind, data = self._kept[at]
        for place, difference in reversed(differences):
            data = patched(data, difference, self._largest)
            self._keep(place, kind, data)
        return kind, data

    def _head(self, at: int) -> tuple[int, int, int]:
        """The kind of an object as a number, its size, and where what follows begins."""
        byte = self._data[at]
        number, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            if size > self._largest:
                raise ValueError("a size is absurd")
        return number, size, at + 1

    def _expanded(self, start: int, end: int, size: int) -> bytes:
        decoder = zlib.decompressobj()
        data = decoder.decompress(self._data[start:end], size + 1)
        if not decoder.eof or len(data) != size:
            raise ValueError("an object is not as long as it says")
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
    except ValueError:  # it is empty
        return b""
    finally:
        os.close(file)


def _distance(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    """How far before a difference its base stands, and where the difference itself begins."""
    byte = data[at]
    found = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        found = (found + 1) << 7 | byte & 0x7F
        if found > LARGEST << 8:
            raise ValueError("a distance is absurd")
    return found, at + 1


def patched(base: bytes, difference: bytes, largest: int) -> bytes:
    """What a difference, as git writes it, makes of its base."""
    size, at = _number(difference, 0)
    length, at = _number(difference, at)
    if size != len(base) or length > largest:
        raise ValueError("this is a difference to something else")
    out = bytearray()
    while at < len(difference) and len(out) <= length:
        code = difference[at]
        at += 1
        if code & 0x80:
            start, at = _sparse(difference, at, code & 0x0F, 4)
            many, at = _sparse(difference, at, code >> 4 & 0x07, 3)
            out += base[start : start + (many or 0x10000)]
        else:
            out += difference[at : at + code]
            at += code
    if len(out) != length:
        raise ValueError("a difference makes something else than it says")
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
            raise ValueError("a number is absurd")


def _sparse(data: bytes, at: int, there: int, most: int) -> tuple[int, int]:
    """A number of which only those bytes are written that are not zero."""
    found = 0
    for number in range(most):
        if there >> number & 1:
            found |= data[at] << 8 * number
            at += 1
    return found, at
