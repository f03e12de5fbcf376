"""Object store of checkpoints, and the ref that protects the user's own objects from garbage collection.

Objects are written as small packs with a `.keep` file beside the repository's own, which are merged now and then.
One ref per worktree, `refs/holdfast/NAME`, points at a tree that holds the checkpoints in nested trees of 64 entries
(shelves), so that adding one stays cheap. It is a tree and not a commit, so that no log or graphical client shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from holdfast.core import ids
from holdfast.core.errors import Damaged, Refused
from holdfast.system import files, shared_files
from holdfast.system.files import sync_objects
from holdfast.system.git.command import Git, Reader
from holdfast.system.git.repository import (
    BLOB,
    DIRECTORY,
    KEEP,
    TREE,
    Entry,
    Known,
    Repository,
    format_tree,
    write_pack,
)
from holdfast.worktree.metadata import FILE

ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NUMBER = re.compile(rb"[0-9a-f]{1,8}")
SHELF = 64
MERGED = 40  # number of our packs at which they are merged
REFS = ("refs", "refs/holdfast", "reftable")
REF_PATIENCE = 2.0  # seconds to wait for another process that locks our ref, such as `git pack-refs`


class ObjectStore:
    """Objects and checkpoints of one worktree."""

    def __init__(self, git: Git, repository: Repository, worktree: str, reader: Reader, known: Known) -> None:
        self.git = git
        self.reader = reader
        self.known = known
        self.repository = repository
        self.home = repository.common or git.directory
        name = "main" if worktree == "." else "w-" + ids.file_name(worktree)
        self.ref = f"refs/holdfast/{name}"

    def refuse_links(self) -> None:
        """Refuse to work behind a link, which would redirect writes and deletions out of the project."""
        if link := self.find_link():
            facts = [("path", link)]
            hints = ["put a directory in the place of the link", "work in a clone, which `git clone` makes"]
            raise Refused("A directory in which checkpoints are kept is a link, so none is written", facts, hints)

    def find_link(self) -> Path | None:
        objects = self.git.objects
        places = (self.git.directory, objects, objects / "pack", *(self.home / name for name in REFS))
        return next(filter(os.path.islink, places), None)  # safeguard: linked-git-directories

    # Checkpoints

    def keep(self, number: int, parts: dict[bytes, Entry]) -> None:
        """Store a checkpoint, durably."""
        self.keep_many({number: parts})

    def keep_many(self, shelved: dict[int, dict[bytes, Entry]], *, anew: bool = False) -> None:
        """Store checkpoints with one update of the ref, durably; `anew` drops all others."""
        root = self._add_tree([]) if anew else self.tip()
        named = {
            number: [Entry(entry.mode, name, entry.id) for name, entry in parts.items()]
            for number, parts in shelved.items()
        }
        trees = {_shelf(number): self._add_tree(entries) for number, entries in named.items()}
        self._point_at(root, {shelf: Entry(DIRECTORY, b"", tree) for shelf, tree in trees.items()})

    def drop(self, numbers: Iterable[int]) -> None:
        """Remove checkpoints from the ref. Their objects are deleted when packs are pruned."""
        if (root := self.tip()) is not None:
            self._point_at(root, {_shelf(number): None for number in numbers})

    def _point_at(self, root: str | None, changes: dict[bytes, Entry | None]) -> None:
        if changes:
            root = self.edit(root, changes)
        self._write(self.reader.pending)
        self.reader.pending.clear()
        if root is not None:
            self.point(root)

    def numbers(self) -> set[int]:
        """Return the numbers of the stored checkpoints."""
        return set(self.shelves())

    def shelves(self) -> dict[int, str]:
        """Return the stored checkpoints: number -> tree."""
        tip = self.tip()
        found: dict[int, str] = {}
        for high, above in self._shelves(tip) if tip else ():
            for middle, between in self._shelves(above):
                found |= {(high * SHELF + middle) * SHELF + low: id for low, id in self._shelves(between)}
        return found

    def _shelves(self, tree: str) -> Iterator[tuple[int, str]]:
        """Yield the numbered entries of a tree; foreign entries are ignored."""
        for entry in self.reader.tree(tree):
            if entry.is_tree and NUMBER.fullmatch(entry.name):
                yield int(entry.name, 16), entry.id

    # Objects

    def rely_on(self, ids: Iterable[str]) -> None:
        """Sync the user's loose objects that a checkpoint is about to name.

        `keep` must follow: its pack includes the trees among them that were read anyway, which saves their sync.
        """
        pending = self.reader.pending
        loose = {id: path for id in ids if id not in pending and (path := self.known.find_loose(id))}
        for id in loose:
            data = format_tree(self.reader.trees.get(id, []))
            if data and self.git.form.id_of(TREE, data) == id:  # it was read before, and is in canonical form
                pending[id] = (TREE, data)
        sync_objects([path for id, path in loose.items() if id not in pending])

    def bring(self, objects: dict[str, tuple[str, bytes]]) -> None:
        """Write imported objects that are not here yet."""
        self._write({id: found for id, found in objects.items() if not self.known.has(id)})

    def _write(self, objects: dict[str, tuple[str, bytes]]) -> None:
        stem = write_pack(self.git.objects, objects, self.git.form, self.git.directory / "keep")
        if stem is not None:
            self.known.add_kept(stem)

    def packs(self) -> list[Path]:
        """Return the indexes of our packs, oldest first."""
        directory = self.git.objects / "pack"
        if not directory.is_dir():
            return []
        keeps = [path for path in directory.glob("pack-*.keep") if (files.read(path, 64) or b"") == KEEP]
        indexes = (path.with_suffix(".idx") for path in keeps if path.with_suffix(".idx").exists())
        return sorted(indexes, key=lambda path: (files.signature(path) or (0, 0))[1])

    def add(self, kind: str, data: bytes) -> str:
        """Add an object to those that are written next, unless the repository has it. Returns its id."""
        id = self.git.form.id_of(kind, data)
        if not self.known.has(id):
            self.reader.pending[id] = (kind, data)
        return id

    def blob(self, data: bytes) -> Entry:
        return Entry(FILE, b"", self.add(BLOB, data))

    def _add_tree(self, entries: Collection[Entry]) -> str:
        id = self.add(TREE, format_tree(entries))
        self.reader.note_tree(id, entries)
        return id

    def edit(self, tree: str | None, changes: Mapping[bytes, Entry | None]) -> str:
        """Add a tree with some paths set or removed (None). Directories that become empty go."""
        if tree is not None and not changes:
            return tree
        entries = {entry.name: entry for entry in self.tree(tree)}
        below: dict[bytes, dict[bytes, Entry | None]] = {}
        for path, change in changes.items():
            name, _, rest = path.partition(b"/")
            if rest:
                below.setdefault(name, {})[rest] = change
            elif change is None:
                entries.pop(name, None)
            else:
                entries[name] = Entry(change.mode, name, change.id)
        for name, inner in below.items():
            old = entries.get(name)
            id = self.edit(old.id if old and old.is_tree else None, inner)
            if id != self._empty():
                entries[name] = Entry(DIRECTORY, name, id)
            elif old and old.is_tree:
                del entries[name]
        return self._add_tree(entries.values())

    def tree(self, id: str | None) -> list[Entry]:
        return [] if id is None or id == self._empty() else self.reader.tree(id)

    def _empty(self) -> str:
        return self.git.form.id_of(TREE, b"")

    # The ref

    def tip(self) -> str | None:
        """Return the tree that our ref points at."""
        loose = (files.read(self.home / self.ref) or b"").decode("ascii", "replace").strip()
        if loose and not ID.fullmatch(loose):  # it would be passed to git as a line of input
            raise Damaged("A ref of ours is damaged", [("ref", self.ref)], ["`holdfast repair`"])
        if loose:
            return loose
        if self.repository.uses_reftable():
            out = self.git.run("for-each-ref", "--format=%(objectname)", self.ref, home=self.home)
            return out.decode().strip() or None
        for line in (files.read(self.home / "packed-refs") or b"").splitlines():
            id, _, name = line.decode("utf-8", "replace").partition(" ")
            if name == self.ref and ID.fullmatch(id):  # otherwise git does not read this file either
                return id
        return None

    def point(self, id: str) -> None:
        """Update our ref as git does: lock, sync, rename, sync of the directory."""
        if self.repository.uses_reftable():
            self.git.run("update-ref", "--no-deref", self.ref, id, home=self.home)
            return
        path = self.home / self.ref
        files.make_directories(path.parent)
        made = self.git.index.with_name("ref.new")
        shared_files.replace_locked(path, id.encode() + b"\n", made, "Another process locks our ref", REF_PATIENCE)


# Differences between trees


class Difference(NamedTuple):
    path: bytes
    now: Entry | None
    then: Entry | None


def walk_differences(
    reader: Reader, now: str | None, then: str | None, wanted: Collection[bytes] = ()
) -> Iterator[Difference]:
    """Yield every entry that differs between two trees, directories included. Equal directories are not read."""
    waiting = [(b"", now, then)]
    while waiting:
        above, old, new = waiting.pop()
        if old == new:
            continue
        left, right = ({entry.name: entry for entry in reader.tree(id)} if id else {} for id in (old, new))
        for name in left.keys() | right.keys():
            path, one, other = above + name, left.get(name), right.get(name)
            if one != other and (is_wanted(path, wanted) or any(goal.startswith(path + b"/") for goal in wanted)):
                inner, outer = (entry.id if entry and entry.is_tree else None for entry in (one, other))
                waiting.append((path + b"/", inner, outer))
                yield Difference(path, one, other)


def differing(
    reader: Reader, now: str | None, then: str | None, wanted: Collection[bytes] = ()
) -> Iterator[Difference]:
    """Yield every path whose file differs between two trees."""
    for path, one, other in walk_differences(reader, now, then, wanted):
        found = Difference(path, as_file(one), as_file(other))
        if found.now != found.then and is_wanted(path, wanted):
            yield found


def as_file(entry: Entry | None) -> Entry | None:
    return entry if entry and not entry.is_tree else None


def is_wanted(path: bytes, wanted: Collection[bytes]) -> bool:
    return not wanted or any(path == name or path.startswith(name + b"/") for name in wanted)


def _shelf(number: int) -> bytes:
    return b"%x/%02x/%02x" % (number // SHELF // SHELF, number // SHELF % SHELF, number % SHELF)
