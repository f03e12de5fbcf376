"""The user's repository as files: HEAD, refs, and objects, with packs of our own.

A checkpoint writes a few objects. Writing them here, as one small pack with its index and a `.keep` file, takes a
millisecond; git processes would take more than all the rest. Existing objects are never written again, and a pack gets
its name only when it is on disk with its index.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.errors import HoldfastError
from holdfast.core.ids import hexdigest
from holdfast.system import files, locate

BLOB, TREE = "blob", "tree"
FEW = 100  # objects
TABLE = 8 + 4 * 256  # bytes before the ids in a pack index
ABSENT = (FileNotFoundError, NotADirectoryError, PermissionError)  # alternates may name anything
DEEPEST, MOST_ALTERNATES = 6, 1_000  # alternates: depth, and total number
TYPE_NUMBER = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
DIRECTORY = 0o040000
KEEP = b"holdfast\n"  # content of our `.keep` files
MARKED = 1.0  # mtime of our packs, in seconds since the epoch: git renews it when it reuses one


class Entry(NamedTuple):
    mode: int
    name: bytes
    id: str

    @property
    def is_tree(self) -> bool:
        return self.mode == DIRECTORY


class Format(NamedTuple):
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
    """Sort in git's order: a directory as if its name ended with a slash."""
    return sorted(entries, key=lambda entry: entry.name + b"/" if entry.is_tree else entry.name)


def format_tree(entries: Iterable[Entry]) -> bytes:
    return b"".join(b"%o %s\0" % (entry.mode, entry.name) + bytes.fromhex(entry.id) for entry in sorted_tree(entries))


class Known:
    """The packed objects of a repository and its alternates, known without starting git.

    Loose objects do not count: git does not sync them, so a power cut may empty or remove them.
    """

    def __init__(self, directory: Path, form: Format) -> None:
        self.directories = [str(found) for found in _with_alternates(directory)]
        self.form = form
        self._packs: dict[str, PackIndex | None] = {}
        self._large: list[PackIndex] = []
        self._few: set[str] = set()  # ids in small packs, of which there may be dozens
        self._looks: list[tuple[int, int, int] | None] = []
        self.kept: dict[str, int] = {}  # packs with `.keep` files, nearly always ours -> size
        self.refresh()

    def has(self, id: str) -> bool:
        return id in self._few or any(index.has(id) for index in self._large)

    def find_loose(self, id: str) -> str | None:
        """Return the file of an object that is in no pack."""
        names = (f"{directory}/{id[:2]}/{id[2:]}" for directory in self.directories)
        return None if self.has(id) else next(filter(os.path.exists, names), None)

    def refresh(self) -> None:
        """Read the packs again if their directories changed, as by git's housekeeping."""
        looks = [files.signature(directory + "/pack") for directory in self.directories]
        if looks != self._looks:
            found = []
            for directory in self.directories:
                with contextlib.suppress(*ABSENT):
                    found += [f"{directory}/pack/{name}" for name in os.listdir(directory + "/pack")]
            paths = {path for path in found if path.endswith(".idx")}
            kept = [path[:-5] for path in found if path.endswith(".keep") and path.startswith(self.directories[0])]
            self.kept = {stem: self.kept.get(stem) or _size(stem) for stem in kept}
            if not self._packs.keys() <= paths or None in self._packs.values():
                self._packs, self._large, self._few = {}, [], set()
            for path in paths - self._packs.keys():
                try:
                    self._packs[path] = index = PackIndex(Path(path), self.form)
                except (OSError, ValueError):  # unreadable: its objects are written again
                    self._packs[path] = None
                    continue
                if len(index) > FEW:
                    self._large.append(index)
                else:
                    self._few.update(index.names())
            self._looks = looks

    def add_kept(self, stem: Path) -> None:
        """Add a pack written since the last refresh."""
        self.kept[str(stem)] = _size(stem)


class PackIndex:
    """The sorted table of ids in a pack's `.idx` file (version 2)."""

    def __init__(self, path: Path, form: Format) -> None:
        self.path = path
        self.form = form
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe in its place does not block
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
        while at >= 0 and (at - table) % size:  # a match across two ids
            at = self._data.find(wanted, at + 1, end)
        return at >= 0

    def names(self) -> Iterator[str]:
        return (self._name(number).hex() for number in range(len(self)))

    def offsets(self) -> Iterator[int]:
        """Yield the offsets of the objects in the pack, in the order of their ids."""
        number = len(self)
        start = TABLE + number * (self.form.size + 4)  # after the ids and the checksums
        for at in range(start, start + 4 * number, 4):
            offset = int(struct.unpack_from(">I", self._data, at)[0])
            if offset >> 31:  # an index into the table of large offsets
                far = start + 4 * number + 8 * (offset & 0x7FFFFFFF)
                offset = int(struct.unpack_from(">Q", self._data, far)[0])
            yield offset

    def is_whole(self) -> bool:
        """Return True if its checksum is right."""
        size = self.form.size
        return self.form.digest(self._data[:-size]) == self._data[-size:].hex()

    def _fanout(self, byte: int) -> int:
        return int(struct.unpack_from(">I", self._data, 8 + byte * 4)[0])

    def _name(self, number: int) -> bytes:
        start = TABLE + number * self.form.size
        return self._data[start : start + self.form.size]


def write_pack(
    directory: Path,
    objects: dict[str, tuple[str, bytes]],
    form: Format,
    keep: Path | None = None,
    *,
    anew: bool = False,
) -> Path | None:
    """Write objects (id -> type and content) as one pack that git's housekeeping leaves alone.

    `keep` is an existing `.keep` file to hard-link: that needs no space and no sync. `anew` overwrites a pack that may
    be corrupt.
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
    """Write keep, pack and index, the index last, since git finds packs by it. One sync covers all names.

    No name appears before all are written: on a full disk, a pack without index would use up the rest.
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
    except OSError:  # another file system, or no hard links
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


def _size(stem: Path | str) -> int:
    return (files.signature(f"{stem}.pack") or (0,))[0]


def _with_alternates(directory: Path) -> Iterator[Path]:
    """Yield an object directory and its alternates, each once, as deep as git follows them."""
    seen, level = {os.path.realpath(directory)}, [directory]
    for _ in range(DEEPEST):
        yield from level
        level = [found for place in level for found in _borrowed(place) if _is_new(found, seen)]


def _is_new(directory: Path, seen: set[str]) -> bool:
    """Return True for an existing directory not seen before; git skips invalid lines, too."""
    if len(seen) > MOST_ALTERNATES or not os.path.isdir(directory) or (real := os.path.realpath(directory)) in seen:
        return False
    seen.add(real)
    return True


def _borrowed(directory: Path) -> Iterator[Path]:
    """Return the alternates of an object directory. Duplicate lines are resolved once: there may be thousands."""
    lines = dict.fromkeys((files.read(directory / "info" / "alternates", 1024 * 1024) or b"").splitlines())
    return (directory / os.fsdecode(line) for line in lines if line and not line.startswith(b"#") and b"\0" not in line)


# The repository

UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
MOST_REFS = 50_000
LONGEST = 4096  # characters of a ref: the longest path
REF = re.compile(r"refs(?:/[^/\x00-\x20\x7f~^:?*\[\\]+)+")
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
LEVELS = 3  # levels of directories in which git looks for objects, as in `objects/info/commit-graphs`
POINTS = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?|ref: refs/[^\x00-\x20\x7f]+")


class Head(NamedTuple):
    commit: str | None = None
    branch: str | None = None
    under_way: str | None = None


class Repository:
    """The user's repository as files: read-only, except for our own packs and `refs/holdfast/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        directory = locate.git_directory(str(root / ".git"))
        self.directory = Path(directory) if directory else None
        self.common = Path(locate.common_directory(directory)) if directory else None

    @property
    def exists(self) -> bool:
        return self.directory is not None

    @property
    def is_sure(self) -> bool:
        """True if it names this worktree itself: a `.git` file may come from elsewhere."""
        return locate.git_directory(str(self.root / ".git"), surely=True) is not None

    @property
    def objects(self) -> Path | None:
        return self.common / "objects" if self.common else None

    @property
    def borrows(self) -> Path | None:
        found = self.common / "objects" / "info" / "alternates" if self.common else None
        return found if found and os.path.lexists(found) else None

    @property
    def is_its_root(self) -> bool:
        """True if the root is a git directory itself, like a bare repository's: its files are branches."""
        if not os.path.isfile(self.root / "HEAD"):
            return False
        parts = (self.root / "objects", self.root / "refs")
        return all(map(os.path.isdir, parts)) and POINTS.fullmatch(_line(self.root / "HEAD")) is not None

    def find_link(self) -> str | None:
        """Return a link by which git would read another repository: as this one, its refs, or an object."""
        if self.directory is None or self.common is None:
            return None
        places = (self.root / ".git", self.directory, self.common / "refs")
        links = (os.fspath(place) for place in places if place.is_symlink())
        # safeguard: linked-objects
        return next(links, None) or next(_find_links(os.fspath(self.common / "objects"), LEVELS), None)

    def roots(self) -> list[Path]:
        """Return the worktrees that name this repository themselves, this one first."""
        if self.common is None:
            return [self.root]
        told = [path for path in sorted(self.common.glob("worktrees/*/gitdir")) if not path.is_symlink()]
        linked = [Path(os.path.normpath(path.parent / _line(path))).parent for path in told]
        beside = [root for root in (self.common.parent, *linked) if root != self.root]
        return [self.root, *(root for root in beside if Repository(root).common == self.common)]

    def format(self) -> Format:
        config = (files.read(self.common / "config") or b"") if self.common else b""
        return Format("sha256" if b"objectformat" in config.lower() and b"sha256" in config.lower() else "sha1")

    def uses_reftable(self) -> bool:
        return self.common is not None and (self.common / "reftable").is_dir()

    def head(self) -> Head:
        if self.directory is None or self.common is None:
            return Head()
        line = _line(self.directory / "HEAD")
        names = set(os.listdir(self.directory))
        under_way = next((word for name, word in UNDER_WAY.items() if name in names), None)
        if not line.startswith("ref: "):
            return Head(_commit(line), None, under_way)
        ref = line[5:]
        if not _is_ref(ref):  # it could name, and so reveal, any file of this machine
            return Head(None, None, under_way)
        return Head(self._resolve(ref), ref.removeprefix("refs/heads/"), under_way)

    def refs(self) -> dict[str, str]:
        """Return HEAD and all refs except ours, by name: an object id, or `ref: ` and another ref."""
        if self.directory is None or self.common is None:
            return {}
        loose = {"HEAD": _line(self.directory / "HEAD")}
        for directory in dict.fromkeys((self.common, self.directory)):
            loose.update(_loose_refs(directory))
        # Read last: git packs a ref before deleting its file, so none is missed.
        packed = (files.read(self.common / "packed-refs") or b"").decode("utf-8", "surrogateescape")
        found = {name: id for id, _, name in (line.partition(" ") for line in packed.split("\n"))} | loose
        return {name: says for name, says in found.items() if _is_ref(name) and POINTS.fullmatch(says)}

    def _resolve(self, ref: str) -> str | None:
        assert self.common is not None
        assert self.directory is not None
        for directory in (self.directory, self.common):
            if _is_plain(directory, ref) and (commit := _commit(_line(directory / ref))):  # safeguard: linked-branch
                return commit
        for line in (files.read(self.common / "packed-refs") or b"").splitlines():
            if line.endswith(b" " + ref.encode("utf-8", "surrogateescape")):
                return _commit(line.split(b" ")[0].decode("ascii", "replace"))
        return None


def _commit(text: str) -> str | None:
    return text if COMMIT.fullmatch(text) else None


def _line(path: Path) -> str:
    return (files.read(path, 1024 * 1024) or b"").partition(b"\n")[0].decode("utf-8", "surrogateescape").strip()


def _loose_refs(directory: Path) -> Iterator[tuple[str, str]]:
    left = MOST_REFS
    if not _is_plain(directory, "refs/"):  # safeguard: linked-refs
        return
    for place, _, names in os.walk(directory / "refs"):
        for name in names[:left]:
            path = Path(place, name)
            try:
                yield path.relative_to(directory).as_posix(), _line(path)
            except HoldfastError:  # a link, a pipe, or another user's file
                continue
        left -= len(names[:left])


def _is_plain(directory: Path, ref: str) -> bool:
    """Return True if no link is on the way to a ref: it could reveal another repository's commits."""
    above = (directory / ref[: found.start()] for found in re.finditer("/", ref))
    return len(ref) <= LONGEST and not any(map(os.path.islink, above))


def _find_links(directory: str, levels: int) -> Iterator[str]:
    """Yield the links in a directory down to a number of levels, or the directory itself."""
    if os.path.islink(directory):
        yield directory
        return
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.path
            elif levels > 1 and entry.is_dir(follow_symlinks=False):
                yield from _find_links(entry.path, levels - 1)


def _is_ref(name: str) -> bool:
    theirs = ".." not in name and not name.startswith("refs/holdfast/")
    return name == "HEAD" or (theirs and REF.fullmatch(name) is not None)
