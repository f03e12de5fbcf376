"""The rows in a database's leaf pages, read without SQLite: for what no path through the tree leads to any more.

A page that was freed may hold rows that were deleted, so whoever uses this must know which ones to believe.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = 4096
LEAF = 0x0D
INDEX = {0x0A: (8, 0), 0x02: (12, 4)}  # pages of an index: how long their head is, and what stands before a cell
MOST_LOCAL, MOST_LOCAL_OF_INDEX = PAGE - 35, (PAGE - 12) * 64 // 255 - 23
LEAST_LOCAL = (PAGE - 12) * 32 // 255 - 23
UNREADABLE = (IndexError, ValueError, struct.error)
INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Pages:
    """The pages of a file that nobody writes, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 - it lives as long as this does
        self.count = os.fstat(self._file.fileno()).st_size // PAGE

    def __getitem__(self, number: int) -> bytes:
        """A page by its number, from 1."""
        if not 1 <= number <= self.count:
            raise ValueError("there is no such page")
        return os.pread(self._file.fileno(), PAGE, (number - 1) * PAGE)

    def close(self) -> None:
        self._file.close()


def rows_in_leaves(pages: Pages) -> Iterator[tuple[int, list[Any]]]:
    """Every row of an ordinary table that can be read, with its number."""
    for page, at in _cells(pages, LEAF):
        try:
            size, start = _varint(page, at)
            number, start = _varint(page, start)
            yield number, _row(pages, page, start, size, MOST_LOCAL)
        except UNREADABLE:
            continue


def entries(pages: Pages) -> Iterator[list[Any]]:
    """Every entry of an index, or of a table without numbers, that can be read: those between its leaves too."""
    for kind, (head, before) in INDEX.items():
        for page, at in _cells(pages, kind, head):
            try:
                size, start = _varint(page, at + before)
                yield _row(pages, page, start, size, MOST_LOCAL_OF_INDEX)
            except UNREADABLE:
                continue


def _cells(pages: Pages, kind: int, length: int = 8) -> Iterator[tuple[bytes, int]]:
    """All pages of a kind, and where in each its cells begin."""
    for number in range(1, pages.count + 1):
        page, head = pages[number], 100 if number == 1 else 0
        if page[head] == kind:
            most = min(int.from_bytes(page[head + 3 : head + 5], "big"), PAGE // 4)
            for at in range(head + length, head + length + 2 * most, 2):
                yield page, int.from_bytes(page[at : at + 2], "big")


def _row(pages: Pages, page: bytes, at: int, size: int, most_local: int) -> list[Any]:
    if size > pages.count * PAGE or at > PAGE:
        raise ValueError("there is no row here")
    return list(_values(_payload(pages, page, at, size, most_local)))


def _payload(pages: Pages, page: bytes, at: int, size: int, most_local: int) -> bytes:
    """The bytes of a row. What does not fit into its page lies in a chain of others."""
    if size <= most_local:
        return page[at : at + size]
    local = LEAST_LOCAL + (size - LEAST_LOCAL) % (PAGE - 4)
    local = local if local <= most_local else LEAST_LOCAL
    parts, left = [page[at : at + local]], size - local
    following = int.from_bytes(page[at + local : at + local + 4], "big")
    while left > 0:
        part = pages[following]
        following = int.from_bytes(part[:4], "big")
        parts.append(part[4 : 4 + min(left, PAGE - 4)])
        left -= PAGE - 4
    return b"".join(parts)


def _values(payload: bytes) -> Iterator[Any]:
    size, at = _varint(payload, 0)
    content = size
    while at < size:
        kind, at = _varint(payload, at)
        length = INTEGERS.get(kind, 8 if kind == 7 else max(0, kind - 12) // 2)
        part = payload[content : content + length]
        if len(part) != length:
            raise ValueError("a value breaks off")
        content += length
        if kind in INTEGERS:
            yield int.from_bytes(part, "big", signed=True)
        elif kind == 7:
            yield struct.unpack(">d", part)[0]
        elif kind >= 12:
            yield part.decode() if kind % 2 else part
        else:
            yield {0: None, 8: 0, 9: 1}[kind] if kind in (0, 8, 9) else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for number in range(9):
        byte = data[at + number]
        if number == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at + number + 1
    raise ValueError("there is no number here")
