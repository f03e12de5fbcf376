"""Git's objects, as far as checkpoints need them: names, trees, and packs of our own.

A checkpoint writes a handful of objects. Doing that here, as one small pack with its index and a `.keep` file, takes a
millisecond; a git process for each step would take more than all the rest. Nothing is ever written that is there
already, and a pack appears under its name only when it is on disk with its index.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.formats.hashing import hexdigest
from holdfast.system import files

BLOB, TREE = "blob", "tree"
FEW = 100  # objects
TABLE = 8 + 4 * 256  # bytes before the names in the index of a pack
ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)  # alternates may name anything
DEEPEST, MOST_ALTERNATES = 6, 1_000  # directories that a repository borrows from, in a row and altogether
TYPE_NUMBER = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
DIRECTORY = 0o040000
KEEP = b"holdfast\n"  # what the file says that keeps git's housekeeping from a pack of ours
MARKED = 1.0  # the date of our packs, in seconds since the epoch: git renews it when it relies on one


class Entry(NamedTuple):
    """One line of a tree."""

    mode: int
    name: bytes
    id: str

    @property
    def is_tree(self) -> bool:
        return self.mode == DIRECTORY


class Format(NamedTuple):
    """How a repository names its objects."""

    name: str  # sha1 or sha256

    @property
    def size(self) -> int:
        return 20 if self.name == "sha1" else 32

    def id_of(self, kind: str, data: bytes) -> str:
        return self.digest(b"%s %d\0" % (kind.encode(), len(data)), data)

    def digest(self, *parts: bytes) -> str:
        return hexdigest(self.name, *parts)


def parse_tree(data: bytes, form: Format) -> list[Entry]:
    entries = []
    at = 0
    while at < len(data):
        space, zero = data.index(b" ", at), data.index(b"\0", at)
        end = zero + 1 + form.size
        entries.append(Entry(int(data[at:space], 8), data[space + 1 : zero], data[zero + 1 : end].hex()))
        at = end
    return entries


def sorted_tree(entries: Iterable[Entry]) -> list[Entry]:
    """In git's order: a directory is sorted as if its name ended with a slash."""
    return sorted(entries, key=lambda entry: entry.name + b"/" if entry.is_tree else entry.name)


def format_tree(entries: Iterable[Entry]) -> bytes:
    """The bytes of a tree."""
    return b"".join(b"%o %s\0" % (entry.mode, entry.name) + bytes.fromhex(entry.id) for entry in sorted_tree(entries))


class Known:
    """Which objects a repository has, without starting git: in its packs, and in those that it borrows.

    Loose ones do not count. Git does not sync them, so that after a power cut they may be empty or gone.
    """

    def __init__(self, directory: Path, form: Format) -> None:
        self.directories = [str(found) for found in _with_alternates(directory)]
        self.form = form
        self._packs: dict[str, PackIndex | None] = {}
        self._large: list[PackIndex] = []
        self._few: set[str] = set()  # what small packs hold: there may be dozens of those
        self._looks: list[int] = []
        self._kept: dict[str, int] = {}
        self.refresh()

    def has(self, id: str) -> bool:
        return id in self._few or any(index.has(id) for index in self._large)

    def find_loose(self, id: str) -> str | None:
        """The file of an object that is in no pack."""
        names = (f"{directory}/{id[:2]}/{id[2:]}" for directory in self.directories)
        return None if self.has(id) else next(filter(os.path.exists, names), None)

    def refresh(self) -> None:
        """See which packs have come and gone; git's housekeeping may have worked meanwhile."""
        looks = [_look(directory + "/pack") for directory in self.directories]
        if looks != self._looks:
            found = [path for directory in self.directories for path in _packs_in(directory)]
            paths = {path for path in found if path.endswith(".idx")}
            kept = [path[:-5] for path in found if path.endswith(".keep") and path.startswith(self.directories[0])]
            self._kept = {stem: self._kept.get(stem) or _size(stem + ".pack") for stem in kept}
            if not self._packs.keys() <= paths or None in self._packs.values():
                self._packs, self._large, self._few = {}, [], set()
            for path in paths - self._packs.keys():
                self._packs[path] = index = _open_index(path, self.form)
                if index is not None and len(index) > FEW:
                    self._large.append(index)
                elif index is not None:
                    self._few.update(index.names())
            self._looks = looks

    def add_kept(self, stem: Path) -> None:
        """Count a pack that was written since we last looked."""
        self._kept[str(stem)] = _size(f"{stem}.pack")

    def kept_sizes(self) -> Collection[int]:
        """The sizes of the packs that git's housekeeping leaves alone, told by names alone: nearly always ours."""
        return self._kept.values()


class PackIndex:
    """The sorted table of names in a pack's `.idx` file (version 2)."""

    def __init__(self, path: Path, form: Format) -> None:
        self.path = path
        self.form = form
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place is not waited for
        try:
            self._data = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
        if self._data[:8] != b"\xfftOc\0\0\0\x02" or len(self._data) < TABLE:
            raise ValueError(f"{path} is not a pack index of version 2")

    def __len__(self) -> int:
        return int(struct.unpack_from(">I", self._data, 8 + 255 * 4)[0])

    def has(self, id: str) -> bool:
        wanted = bytes.fromhex(id)
        size, table = self.form.size, TABLE
        at = table + size * (self._fanout(wanted[0] - 1) if wanted[0] else 0)
        end = table + size * self._fanout(wanted[0])
        at = self._data.find(wanted, at, end)
        while at >= 0 and (at - table) % size:  # it only looks like that, across two names
            at = self._data.find(wanted, at + 1, end)
        return at >= 0

    def names(self) -> Iterator[str]:
        return (self._name(number).hex() for number in range(len(self)))

    def offsets(self) -> Iterator[int]:
        """Where in the pack the objects begin, in the order of their names."""
        number = len(self)
        start = TABLE + number * (self.form.size + 4)  # behind the names, and a checksum of each object
        for at in range(start, start + 4 * number, 4):
            offset = int(struct.unpack_from(">I", self._data, at)[0])
            if offset >> 31:  # a place in the table of large ones
                far = start + 4 * number + 8 * (offset & 0x7FFFFFFF)
                offset = int(struct.unpack_from(">Q", self._data, far)[0])
            yield offset

    def is_whole(self) -> bool:
        """Whether it is what was written, by its own checksum."""
        size = self.form.size
        return self.form.digest(self._data[:-size]) == self._data[-size:].hex()

    def _fanout(self, byte: int) -> int:
        return int(struct.unpack_from(">I", self._data, 8 + byte * 4)[0])

    def _name(self, number: int) -> bytes:
        start = TABLE + number * self.form.size
        return self._data[start : start + self.form.size]


def _open_index(path: str, form: Format) -> PackIndex | None:
    """None for a table that is not there any more or that we cannot read: what it names is then written once more."""
    try:
        return PackIndex(Path(path), form)
    except (OSError, ValueError):
        return None


def write_pack(
    directory: Path,
    objects: dict[str, tuple[str, bytes]],
    form: Format,
    keep: Path | None = None,
    *,
    anew: bool = False,
) -> Path | None:
    """Write objects (id -> kind and content) as one pack that git's own housekeeping leaves alone.

    `keep` is a file that says so already: a second name for it needs no room, and no sync of its content. `anew` is for
    one that may lie there already, damaged.
    """
    if not objects:
        return None
    table: list[tuple[bytes, int, int]] = []
    chunks = [struct.pack(">4sII", b"PACK", 2, len(objects))]
    offset = 12
    for id, (kind, data) in objects.items():
        chunk = packed(kind, data)
        table.append((bytes.fromhex(id), zlib.crc32(chunk), offset))
        chunks.append(chunk)
        offset += len(chunk)
    pack = b"".join(chunks)
    checksum = bytes.fromhex(form.digest(pack))
    stem = directory / "pack" / f"pack-{checksum.hex()}"
    if anew or not stem.with_suffix(".idx").exists():
        _place(stem, pack + checksum, _index_of(sorted(table), checksum, form), keep)
    return stem


def _place(stem: Path, pack: bytes, index: bytes, keep: Path | None) -> None:
    """Keep, pack, index: git looks for packs by their index, so that one comes last. One sync makes all names last.

    None of them comes before all are written: on a full disk a pack without its index would take the room that is left.
    """
    files.make_directories(stem.parent)
    with (
        files.staged(stem.with_suffix(".idx"), index, 0o444),
        files.staged(stem.with_suffix(".pack"), pack, 0o444, date=MARKED),
    ):
        _mark(stem.with_suffix(".keep"), keep)
    files.sync_directory(stem.parent)  # safeguard: sync-pack-names


def _mark(path: Path, keep: Path | None) -> None:
    try:
        if keep is not None:
            os.link(keep, path)
            return
    except FileExistsError:
        return
    except OSError:  # another file system, or one without second names
        pass
    files.put(path, KEEP, 0o444)


def packed(kind: str, data: bytes) -> bytes:
    size = len(data)
    byte = TYPE_NUMBER[kind] << 4 | size & 15
    head = bytearray()
    size >>= 4
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    return bytes(head) + zlib.compress(data, 1)


def _index_of(table: list[tuple[bytes, int, int]], checksum: bytes, form: Format) -> bytes:
    counts = [0] * 256
    for name, _, _ in table:
        counts[name[0]] += 1
    fanout, total = [], 0
    for number in counts:
        total += number
        fanout.append(total)
    large = [offset for _, _, offset in table if offset >= 1 << 31]
    position = {offset: number for number, offset in enumerate(large)}
    body = b"".join(
        (
            b"\xfftOc\0\0\0\x02",
            struct.pack(">256I", *fanout),
            b"".join(name for name, _, _ in table),
            b"".join(struct.pack(">I", crc) for _, crc, _ in table),
            b"".join(struct.pack(">I", 1 << 31 | position[at] if at in position else at) for _, _, at in table),
            b"".join(struct.pack(">Q", offset) for offset in large),
            checksum,
        )
    )
    return body + bytes.fromhex(form.digest(body))


def _packs_in(directory: str) -> list[str]:
    try:
        names = os.listdir(directory + "/pack")
    except ABSENT:
        return []
    return [f"{directory}/pack/{name}" for name in names if name.endswith((".idx", ".keep"))]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except ABSENT:
        return 0


def _look(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except ABSENT:
        return 0


def _with_alternates(directory: Path) -> Iterator[Path]:
    """An object directory and those it borrows from, each once, and as deep as git itself goes."""
    seen, level = {os.path.realpath(directory)}, [directory]
    for _ in range(DEEPEST):
        yield from level
        level = [found for place in level for found in _borrowed(place) if _is_new(found, seen)]


def _is_new(directory: Path, seen: set[str]) -> bool:
    """Whether it is a directory that was not there yet; a line may name anything, and git passes over what is none."""
    if len(seen) > MOST_ALTERNATES or not os.path.isdir(directory) or (real := os.path.realpath(directory)) in seen:
        return False
    seen.add(real)
    return True


def _borrowed(directory: Path) -> Iterator[Path]:
    """Each line once: to ask where each of thousands leads takes its time, though they all lead to the same place."""
    lines = dict.fromkeys((files.read(directory / "info" / "alternates", 1024 * 1024) or b"").splitlines())
    return (directory / os.fsdecode(line) for line in lines if line and not line.startswith(b"#") and b"\0" not in line)
