"""Portable packs: every object whole, so that no other repository is needed, and parsed without git.

A pack from elsewhere may be hostile. No object is expanded beyond its declared size or the limit, deltas are refused,
and a tree may contain only what a checkpoint of ours can hold.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.core.errors import Damaged
from holdfast.system.git.objects import BLOB, DIRECTORY, TREE, TYPE_NUMBER, Format, packed, parse_tree
from holdfast.worktree.metadata import TreeMetadata

KINDS = {TYPE_NUMBER[TREE]: TREE, TYPE_NUMBER[BLOB]: BLOB}
MODES = (DIRECTORY, 0o100644, 0o100755, 0o120000)
MOST_OBJECTS = 5_000_000
ODD_BITS = 0o7000  # setuid, setgid, sticky


class Object(NamedTuple):
    id: str
    kind: str
    data: bytes


def format_pack(objects: Iterable[tuple[str, bytes]], number: int, form: Format) -> Iterator[bytes]:
    """Yield the bytes of a pack of `number` objects, each a kind and its content."""
    state = hashlib.new(form.name)
    for chunk in itertools.chain([struct.pack(">4sII", b"PACK", 2, number)], itertools.starmap(packed, objects)):
        state.update(chunk)
        yield chunk
    yield state.digest()


def parse_pack(chunks: Iterable[bytes], form: Format, most: int) -> Iterator[Object]:
    """Yield the objects of a pack; raises Damaged if it is not one of ours, or holds more than `most` bytes."""
    stream = _Stream(chunks)
    magic, version, number = struct.unpack(">4sII", stream.take(12))
    if (magic, version) != (b"PACK", 2) or number > MOST_OBJECTS:
        raise _wrong("it is not a pack")
    for _ in range(number):
        kind, size = _head(stream)
        most -= size
        if kind not in KINDS or most < 0:
            raise _wrong("it contains something that no checkpoint has, or too much")
        data = stream.expand(size)
        yield Object(form.id_of(KINDS[kind], data), KINDS[kind], data)
    stream.take(form.size)  # its checksum: the bundle has a better one
    if stream.more():
        raise _wrong("there is data after its end")


class Shapes:
    """Structure of a pack's objects, by which a checkpoint is proven complete and harmless."""

    def __init__(self, form: Format) -> None:
        self._form = form
        self._trees: dict[str, list[tuple[int, str]]] = {}
        self._blobs: set[str] = set()
        self._proven: set[str] = set()

    def note(self, found: Object) -> None:
        if found.kind == TREE:
            self._trees[found.id] = list(_entries(found.data, self._form))
        else:
            self._blobs.add(found.id)

    def prove_tree(self, root: str) -> None:
        """Check that everything below a tree is in the pack."""
        waiting = [root]
        while waiting:
            id = waiting.pop()
            if id in self._proven:
                continue
            if id not in self._trees:
                raise _wrong("a directory is missing")
            self._proven.add(id)
            waiting += [below for mode, below in self._trees[id] if mode == DIRECTORY]
            self.prove_blobs(below for mode, below in self._trees[id] if mode != DIRECTORY)

    def prove_blobs(self, ids: Iterable[str]) -> None:
        if not self._blobs.issuperset(ids):
            raise _wrong("a file is missing")


def check_beside(data: bytes) -> None:
    """Check that the metadata names only worktree paths and no setuid, setgid or sticky bits."""
    try:
        found = TreeMetadata.decode(data)
    except ValueError as error:
        raise _wrong("the metadata cannot be read") from error
    for path in (*found.modes, *found.empty, *found.links, *found.skipped):
        for name in path.split(b"/"):
            _check_name(name)
    if any(mode & ODD_BITS for mode in found.modes.values()):
        raise _wrong("a file has a setuid, setgid or sticky bit")


def _entries(data: bytes, form: Format) -> Iterator[tuple[int, str]]:
    try:
        entries = parse_tree(data, form)
    except ValueError as error:
        raise _wrong("a directory cannot be read") from error
    if len({entry.name for entry in entries}) != len(entries):
        raise _wrong("a directory contains a name twice")
    for entry in entries:
        _check_name(entry.name)
        if entry.mode not in MODES or len(entry.id) != 2 * form.size:
            raise _wrong("a directory contains something that no checkpoint has")
        yield entry.mode, entry.id


def _check_name(name: bytes) -> None:
    """Refuse names that lead out of the worktree, and `.git`, which could hold commands that git runs."""
    if name in (b"", b".", b"..") or b"/" in name or name.lower() in (b".git", b".holdfast"):
        raise _wrong("a path leads out of the worktree or into `.git`")


def _head(stream: _Stream) -> tuple[int, int]:
    byte = stream.take(1)[0]
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        byte = stream.take(1)[0]
        size |= (byte & 0x7F) << shift
        shift += 7
        if shift > 60:
            raise _wrong("a size is absurd")
    return kind, size


class _Stream:
    """Bytes that arrive in chunks, read as they are or decompressed."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = b""

    def take(self, number: int) -> bytes:
        while len(self._left) < number:
            self._left += self._next()
        taken, self._left = self._left[:number], self._left[number:]
        return taken

    def expand(self, size: int) -> bytes:
        """Decompress one value of exactly this size."""
        decoder, out, length = zlib.decompressobj(), [], 0
        try:
            while not decoder.eof:
                data = decoder.unconsumed_tail or self._left or self._next()
                self._left = b""
                out.append(decoder.decompress(data, size - length + 1))
                length += len(out[-1])
                if length > size:
                    raise _wrong("an object is larger than it says")
        except zlib.error as error:
            raise _wrong("an object cannot be expanded") from error
        if length != size:
            raise _wrong("an object is smaller than it says")
        self._left = decoder.unused_data
        return b"".join(out)

    def more(self) -> bool:
        return bool(self._left or next(self._chunks, b""))

    def _next(self) -> bytes:
        found = next(self._chunks, b"")
        if not found:
            raise _wrong("it is truncated")
        return found


def _wrong(why: str) -> Damaged:
    return Damaged(f"The code in this file cannot be imported: {why}", [], ["`holdfast export` makes such files"])
