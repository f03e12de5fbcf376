"""Capture of a worktree: its exact content as a git tree that no git command shows.

A private index holds the states of files, so that git finds changes by their dates. Changes since that index was
written are in the `Memory` beside it, so that a checkpoint costs what changed and not what exists. Both are caches: if
lost or damaged, they are rebuilt.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused, Trouble
from holdfast.core.text import path_text
from holdfast.system import files
from holdfast.system.git.command import Git, Reader, zsplit
from holdfast.system.git.repository import TREE, Known, Repository
from holdfast.worktree import prefetch
from holdfast.worktree.metadata import Seen, TreeMetadata, find_borders, is_within, zjoin
from holdfast.worktree.packs.object_store import ObjectStore
from holdfast.worktree.scan import FORM, SECOND, Limits, Memory, Scan, Scanner, Tracked, find_converted, parse_tracked
from holdfast.worktree.scan_directories import MANY, DirectoryScan, FullScanNeeded, find_ignored
from holdfast.worktree.user_index import Staging, scratch

FOLDED = 200  # remembered changes before they are folded into the private index
MEMORY_LIMIT = 1 << 30


class Shadow:
    """Private git directory of one worktree, with its scan cache and its object store."""

    def __init__(self, place: Path, root: Path, worktree: str) -> None:
        self.root = root
        self.repository = Repository(root)
        self.directory = place / "worktrees" / ids.file_name(worktree)
        objects = self.repository.objects or place / "git" / "objects"
        self.git = Git(place / "git", root, objects, self.directory / "index", self.repository.format())
        self.worktree = worktree
        self.borders = find_borders(root, (self.repository.directory, self.repository.common, place))
        self.staging = Staging(self.git, self.repository, self.directory)

    @functools.cached_property
    def reader(self) -> Reader:
        return Reader(self.git)

    @functools.cached_property
    def known(self) -> Known:
        return Known(self.git.objects, self.git.form)

    @property
    def object_store(self) -> ObjectStore:
        return ObjectStore(self.git, self.repository, self.worktree, self.reader, self.known)

    def never_kept_any(self) -> bool:
        """Check whether no checkpoint was ever made here, because a link stands in for a directory of the store."""
        return not self.git.directory.exists() and self.object_store.find_link() is not None

    def close(self) -> None:
        if "reader" in self.__dict__:
            self.reader.close()
            del self.reader

    @contextlib.contextmanager
    def locked(self, patience: float) -> Iterator[Shadow]:
        """Hold the worktree's lock, prepared for an operation."""
        self.make_directory()
        with files.lock(self.directory / "lock", patience), self:
            yield self

    def make_directory(self) -> None:
        for directory in (self.directory.parent, self.directory):
            files.make_private_directory(directory)

    def __enter__(self) -> Shadow:
        self.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def scan(self, limits: Limits, named: Iterable[bytes] | None = None, include: Iterable[bytes] = ()) -> Scan:
        """Scan the worktree. With `named`, only those paths are read, and the rest is assumed unchanged."""
        if self.repository.is_its_root:  # safeguard: foreign-git-directory
            raise Refused(
                "This is the directory of a repository and no worktree, so there is nothing to keep or to restore",
                [("directory", path_text(self.root))],
                ["work in a worktree, which `git worktree add` makes"],
            )
        memory = self._load()
        if memory is None:
            return self._seed(limits, include)
        scanner = self._scanner(memory, limits)
        if named is not None:
            scanner.scan_paths(named)
        else:
            scanner.scan_all(self._candidates(memory, scanner), include)
        return scanner.result()

    def _scanner(self, memory: Memory, limits: Limits) -> Scanner:
        return Scanner(self.object_store, self.directory, self.borders, memory, limits)

    def remember(self, scan: Scan) -> None:
        """Save the result of a scan, once its objects are on disk. The next small one folds a large change in."""
        memory = scan.memory
        if len(memory.seen) > FOLDED and len(scan.changed) <= FOLDED:
            self._fold_in(memory)
        memory.index = files.signature(self.git.index)
        data = msgspec.msgpack.encode(memory)
        data = zlib.crc32(data).to_bytes(4, "big") + data
        # overwritten in place: a kill leaves it damaged, which its checksum reveals
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(f"{self.directory}/memory", flags, files.PRIVATE_FILE)
        try:
            files.write_all(descriptor, data)
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)

    def _fold_in(self, memory: Memory) -> None:
        """Update the private index with the remembered changes, so that git need not report them each time.

        Git reads the files once more, and writes no objects, as it might follow a link that was placed there meanwhile.
        A file that was changed meanwhile is remembered as untrusted.
        """
        left_out = memory.beside.skipped
        paths = zjoin(path for path in memory.seen if path not in left_out)
        # safeguard: index-input-inside
        self.git.run("update-index", "-z", "--add", "--remove", "--info-only", "--stdin", input=paths)
        raw = self.git.run("diff-index", "--cached", "-z", "--no-renames", "--ignore-submodules=all", memory.tree)
        young = time.time_ns() - 2 * SECOND
        # a change so recent that git, which compares whole seconds, may miss a chmod
        kept = {
            path: seen
            for path, seen in memory.seen.items()
            if path in left_out or (seen is not None and (seen.look is None or seen.look[2] > young))
        }
        for path in zsplit(raw)[1::2]:
            entry = self.reader.find(memory.tree, path)
            kept[path] = Seen(entry.mode, entry.id, None) if entry and not entry.is_tree else None
        memory.seen = kept

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        return scratch(self.directory)

    def forget(self) -> None:
        """Make the next scan start from the repository's own index."""
        for name in ("memory", "index"):
            files.remove(self.directory / name)

    def stands(self, path: bytes) -> bool:
        """Check whether anything is at a path of the worktree."""
        return os.path.lexists(os.path.join(os.fsencode(self.root), path))

    def prepare(self) -> None:
        """Prepare for an operation. The caller holds the worktree's lock."""
        self.object_store.refuse_links()  # safeguard: linked-place-of-checkpoints
        self.reader.pending.clear()
        self.known.refresh()
        self.make_directory()
        for name in ("index.lock", "theirs.lock"):  # we hold the worktree's lock, so a killed process left them
            (self.directory / name).unlink(missing_ok=True)
        self.git.prepare()
        if not self.git.objects.exists():
            files.make_private_directory(self.git.objects)
        self.reader.start()  # now, so that it is ready when it is needed
        self.git.excludes = self.directory / "excludes"

    def _load(self) -> Memory | None:
        """Return the remembered scan, if it is intact and belongs to the present index."""
        stored = files.read(self.directory / "memory", MEMORY_LIMIT)
        if stored is None or zlib.crc32(stored[4:]).to_bytes(4, "big") != stored[:4]:
            return None
        try:
            memory = msgspec.msgpack.decode(stored[4:], type=Memory)
        except msgspec.DecodeError:  # written by another version
            return None
        is_believed = memory.form == FORM and memory.index is not None
        return memory if is_believed and memory.index == files.signature(self.git.index) else None

    def _candidates(self, memory: Memory, scanner: Scanner) -> list[bytes]:
        """Return every path that may have changed: git finds changed files while we search for new names."""
        differing = prefetch.take(self.git)
        try:
            self._find_excludes(memory)
            found = self._new_names(memory, scanner)
            forced = self._forced(memory)
        except BaseException:
            differing.stop()
            raise
        try:
            raw = differing.finish()
        except Trouble:  # the prefetch knows less than we do; if that was not the reason, it fails again
            raw = self.git.run(*prefetch.CHANGED)
        changed = zsplit(raw)[1::2]
        scanner.indexed.update(changed)
        return [*changed, *found, *forced]

    def _new_names(self, memory: Memory, scanner: Scanner) -> list[bytes]:
        def known(path: bytes) -> set[bytes]:
            entry = self.reader.find(memory.tree, path) if path else None
            if path and (entry is None or not entry.is_tree):  # the directory may have been a file or link then
                return set()
            below = scanner.object_store.tree(entry.id if entry else memory.tree)
            return {found.name for found in below if not found.is_tree}

        directories = DirectoryScan(self.git, self.borders)
        try:
            if memory.watch is None:
                raise FullScanNeeded
            found = directories.search_changed(memory.watch, scanner.beside.empty, scanner.beside.links, known)
        except FullScanNeeded:
            # safeguard: forget-index-memory
            memory.user_index = memory.forced_in = None  # other files may be ignored now
            directories = DirectoryScan(self.git, self.borders)
            found = directories.search_all()
        memory.watch = directories.watch
        scanner.note_surroundings(directories.empty, directories.links)
        hidden = [
            below for path in directories.closed for below in scanner.known_below(path)
        ]  # git does not report them
        return [*found, *hidden]

    def _forced(self, memory: Memory) -> list[bytes]:
        """Return the tracked files that match an ignore rule; computed only when the user's index has changed."""
        now = self.staging.signature()
        if now is None or now == memory.user_index:
            return memory.forced
        recorded = self.staging.recorded()
        found = self._forced_since(memory, recorded) if recorded else None
        memory.user_index, memory.forced_in = now, recorded
        if found is None:
            with self.staging.copied() as copy:
                arguments = ("ls-files", "-c", "-i", "-z", "--exclude-standard")
                found = zsplit(self.git.run(*arguments, index=copy)) if copy is not None else []
        memory.forced = found
        return found

    def _forced_since(self, memory: Memory, recorded: str) -> list[bytes] | None:
        """Update that list from the difference of the index to the earlier one; None if it is unknown or too large."""
        found = self.staging.differences(self.reader, memory.forced_in, recorded)
        if found is None or len(found.came) > MANY:
            return None
        try:
            ignored = find_ignored(self.git, found.came)
        except Trouble:  # git refuses a path behind a link, or one that could be a pattern
            return None
        return [*(path for path in memory.forced if path not in found.gone), *ignored]

    def _find_excludes(self, memory: Memory) -> None:
        """Join the user's global ignore file with the repository's `info/exclude`, which takes precedence."""
        lists: list[bytes | None] = []
        own = self._excludes_of_user(memory)
        with contextlib.suppress(HoldfastError):  # it may be a link or unreadable, as for git
            lists.append(files.read(Path(os.path.realpath(own))))
        if self.repository.common:
            lists.append(files.read(self.repository.common / "info" / "exclude"))
        joined = b"".join(data.removeprefix(codecs.BOM_UTF8) + b"\n" for data in lists if data)
        target = self.directory / "excludes"
        if files.read(target) != joined:
            files.write(target, joined)

    def _excludes_of_user(self, memory: Memory) -> str | Path:
        """Return the user's global ignore file; git's configuration is read only when it has changed."""
        home = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")) / "git"
        configs = [home / "config", Path(os.path.expanduser("~/.gitconfig"))]
        now = [files.signature(path) for path in configs]
        if memory.user_config != now:
            memory.user_config, memory.user_excludes = now, None
            for path in (path for path, found in zip(configs, now, strict=True) if found):
                asked = self.git.start("config", f"--file={path}", "--includes", "core.excludesFile")
                memory.user_excludes = os.fsdecode(asked.finish(also_fine=(1,)).strip()) or memory.user_excludes
        return os.path.expanduser(memory.user_excludes) if memory.user_excludes else home / "ignore"

    def ignores(self, path: bytes) -> bool:
        """Check whether a path matches an ignore rule of the repository or the user."""
        self._find_excludes(self._load() or Memory("", TreeMetadata()))
        return bool(find_ignored(self.git, [path]))

    def _seed(self, limits: Limits, include: Iterable[bytes]) -> Scan:
        """Start from the user's own index, so that tracked and unchanged files are never read."""
        files.remove(self.git.index)
        staged, tracked = 0, list[Tracked]()
        if self.staging.copy(self.git.index):
            staged = int(self.git.index.stat().st_mtime)
            tracked = self._make_plain()
            tree, objects = self.staging.tree_of(self.git.index)
            self.reader.pending |= objects
        else:
            tree = self.object_store.add(TREE, b"")
            self.git.run("read-tree", "--empty")
        memory = Memory(tree, TreeMetadata(), form=FORM)
        scanner = self._scanner(memory, limits)
        own = self.repository.common / "info" / "attributes" if self.repository.common else None
        converted = find_converted(self.git, self.directory, [found.path for found in tracked], own)
        names = b"".join(found.id + b"\n" for found in tracked)
        answers = self.git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", input=names)
        sizes = dict(line.split(b" ") for line in answers.splitlines() if not line.endswith(b"missing"))
        scanner.note_tracked(tracked, staged, sizes, converted)
        scanner.scan_all(self._candidates(memory, scanner), include)
        return scanner.result()

    def _make_plain(self) -> list[Tracked]:
        """Normalise our copy: no split, no entries in conflict, no "assume unchanged" and "skip-worktree" bits.

        Returns its entries.
        """
        self.git.run("update-index", "--no-split-index", "--index-version", "4")
        tracked = [parse_tracked(line) for line in zsplit(self.git.run("ls-files", "-v", "-s", "-z"))]
        # those that a scan must find anew: conflicts, submodules, excluded paths, sparse files
        gone = {found.path for found in tracked if found.stage != b"0" or found.mode == b"160000"}
        gone |= {found.path for found in tracked if is_within(found.path, self.borders)}
        gone |= {found.path for found in tracked if found.is_skipped and not self.stands(found.path)}
        left = [found for found in tracked if found.path not in gone]
        for how, paths in (
            ("--force-remove", gone),
            ("--no-assume-unchanged", {found.path for found in left if found.tag.islower()}),
            ("--no-skip-worktree", {found.path for found in left if found.is_skipped}),
        ):
            if paths:
                self.git.run("update-index", "-z", how, "--stdin", input=zjoin(paths))
        return left
