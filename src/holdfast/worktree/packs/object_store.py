"""Where checkpoints' objects are kept, and the ref that keeps the user's own objects from his garbage collection.

Objects go into small packs with a `.keep` file beside the repository's own, and now and then those are merged into one.
One ref per worktree, `refs/holdfast/NAME`, points at a tree that holds the checkpoints' trees on shelves of 64, so that
adding one stays cheap however many there are. A tree and not a commit: no log and no graphical client shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

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

ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NUMBER = re.compile(rb"[0-9a-f]{1,8}")
SHELF = 64
MERGED = 40  # packs of ours before they are merged
REFS = ("refs", "refs/holdfast", "reftable")
REF_PATIENCE = 2.0  # seconds that somebody else may hold our ref, as `git pack-refs` does


class Vault:
    def __init__(self, git: Git, repository: Repository, worktree: str, reader: Reader, known: Known) -> None:
        self.git = git
        self.reader = reader
        self.known = known
        self.repository = repository
        self.home = repository.common or git.directory
        name = "main" if worktree == "." else "w-" + ids.file_name(worktree)
        self.ref = f"refs/holdfast/{name}"

    def refuse_links(self) -> None:
        """Refuse to work behind a link: it would lead what is written, and what is taken away, out of the project."""
        if link := self.find_link():
            raise Refused(
                "A directory in which checkpoints are kept is a link, so none is written",
                [("path", link)],
                ["put a directory in the place of the link", "work in a clone, which `git clone` makes"],
            )

    def find_link(self) -> Path | None:
        objects = self.git.objects
        places = (self.git.directory, objects, objects / "pack", *(self.home / name for name in REFS))
        return next(filter(os.path.islink, places), None)  # safeguard: linked-git-directories

    def keep(self, number: int, parts: dict[bytes, Entry]) -> None:
        """Put a checkpoint on its shelf; on disk when this returns."""
        self.keep_many({number: parts})

    def keep_many(self, shelved: dict[int, dict[bytes, Entry]], *, anew: bool = False) -> None:
        """Put checkpoints on their shelves in one go, or on new ones; on disk when this returns."""
        root = self._tree([]) if anew else self.tip()
        for number, parts in shelved.items():
            tree = self._tree([Entry(entry.mode, name, entry.id) for name, entry in parts.items()])
            root = self._replaced(root, _shelf(number), Entry(DIRECTORY, b"", tree))
        self._write(self.reader.pending)
        self.reader.pending.clear()
        if root is not None:
            self.point(root)

    def rely_on(self, ids: Iterable[str]) -> None:
        """Bring the user's own objects that a checkpoint will name to the disk, as far as no pack holds them.

        `keep` must follow: its pack takes in the directories among them that were read anyway, which saves their sync.
        """
        pending = self.reader.pending
        loose = {id: path for id in ids if id not in pending and (path := self.known.find_loose(id))}
        pending |= {id: (TREE, data) for id in loose if (data := self._data_of(id))}
        sync_objects([path for id, path in loose.items() if id not in pending])

    def _data_of(self, tree: str) -> bytes | None:
        """The bytes of a tree that was read already; None where it was not, or was written in an odd form."""
        data = format_tree(self.reader.trees.get(tree, []))
        return data if self.git.form.id_of(TREE, data) == tree else None

    def bring(self, objects: dict[str, tuple[str, bytes]]) -> None:
        """Write objects from elsewhere, but for those that are here already."""
        self._write({id: found for id, found in objects.items() if not self.known.has(id)})

    def drop(self, numbers: Iterable[int]) -> None:
        """Take checkpoints off their shelves. Their objects go when packs are merged."""
        root = self.tip()
        for number in numbers:
            root = self._replaced(root, _shelf(number), None)
        self._write(self.reader.pending)
        self.reader.pending.clear()
        if root is not None:
            self.point(root)

    def _write(self, objects: dict[str, tuple[str, bytes]]) -> None:
        stem = write_pack(self.git.objects, objects, self.git.form, self.git.directory / "keep")
        if stem is not None:
            self.known.add_kept(stem)

    def numbers(self) -> set[int]:
        """Which checkpoints stand on the shelves."""
        return set(self.shelves())

    def shelves(self) -> dict[int, str]:
        """Which checkpoints stand on the shelves, and the tree of each."""
        tip = self.tip()
        found: dict[int, str] = {}
        for high, above in self._shelves(tip) if tip else ():
            for middle, between in self._shelves(above):
                found |= {(high * SHELF + middle) * SHELF + low: id for low, id in self._shelves(between)}
        return found

    def _shelves(self, tree: str) -> Iterator[tuple[int, str]]:
        """The numbers in a tree of shelves, and what each leads to. Whatever else somebody put there is none."""
        for entry in self.reader.tree(tree):
            if entry.is_tree and NUMBER.fullmatch(entry.name):
                yield int(entry.name, 16), entry.id

    def blob(self, data: bytes) -> Entry:
        id = self.git.form.id_of(BLOB, data)
        self._need(id, BLOB, data)
        return Entry(0o100644, b"", id)

    def tip(self) -> str | None:
        """The tree that our ref points at."""
        loose = (files.read(self.home / self.ref) or b"").decode("ascii", "replace").strip()
        if loose and not ID.fullmatch(loose):  # git is asked for what stands here, line by line
            raise Damaged("A ref of ours is damaged", [("ref", self.ref)], ["`holdfast repair`"])
        if loose or self.repository.uses_reftable():
            return loose or self._ask_git()
        for line in (files.read(self.home / "packed-refs") or b"").splitlines():
            id, _, name = line.decode("utf-8", "replace").partition(" ")
            if name == self.ref and ID.fullmatch(id):  # else git itself reads none of this file
                return id
        return None

    def point(self, id: str) -> None:
        """Let our ref point at a tree, as git itself would write it: lock, sync, rename, sync of the directory."""
        if self.repository.uses_reftable():
            self._tell_git(id)
            return
        path = self.home / self.ref
        files.make_directories(path.parent)
        made = self.git.index.with_name("ref.new")
        shared_files.replace_locked(path, id.encode() + b"\n", made, "Somebody else holds our ref", REF_PATIENCE)

    def packs(self) -> list[Path]:
        """The packs that are ours, oldest first."""
        directory = self.git.objects / "pack"
        if not directory.is_dir():
            return []
        keeps = [path for path in directory.glob("pack-*.keep") if (files.read(path, 64) or b"") == KEEP]
        return sorted((path.with_suffix(".idx") for path in keeps if path.with_suffix(".idx").exists()), key=_age)

    def _replaced(self, tree: str | None, path: list[bytes], leaf: Entry | None) -> str:
        """A tree with one entry below it changed or gone."""
        entries = {entry.name: entry for entry in (self.reader.tree(tree) if tree else [])}
        name, rest = path[0], path[1:]
        if rest:
            old = entries.get(name)
            entries[name] = Entry(DIRECTORY, name, self._replaced(old.id if old and old.is_tree else None, rest, leaf))
        elif leaf is None:
            entries.pop(name, None)
        else:
            entries[name] = Entry(leaf.mode, name, leaf.id)
        return self._tree(entries.values())

    def _tree(self, entries: Collection[Entry]) -> str:
        data = format_tree(entries)
        id = self.git.form.id_of(TREE, data)
        self.reader.note_tree(id, entries)
        self._need(id, TREE, data)
        return id

    def _need(self, id: str, kind: str, data: bytes) -> None:
        if not self.known.has(id):
            self.reader.pending[id] = (kind, data)

    def _ask_git(self) -> str | None:
        out = self.git.run("for-each-ref", "--format=%(objectname)", self.ref, home=self.home)
        return out.decode().strip() or None

    def _tell_git(self, id: str) -> None:
        self.git.run("update-ref", "--no-deref", self.ref, id, home=self.home)


def _shelf(number: int) -> list[bytes]:
    return [b"%x" % (number // SHELF // SHELF), b"%02x" % (number // SHELF % SHELF), b"%02x" % (number % SHELF)]


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
