"""The shadow of a worktree: its exact content as a git tree that nobody sees.

A private index remembers what files looked like, so that git finds changes by looking at their dates. What changed
since that index was made lies in the `Memory` beside it, so that a checkpoint costs what changed and not what exists.
Both are caches: lost or damaged, they are made anew.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import os
import time
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused, Trouble
from holdfast.core.text import path_text
from holdfast.system import files
from holdfast.system.git.command import Git, Reader, Running, zsplit
from holdfast.system.git.repository import DIRECTORY, TREE, Entry, Head, Known, Repository
from holdfast.worktree import git_filters, prefetch
from holdfast.worktree.metadata import Beside
from holdfast.worktree.packs.object_store import Vault
from holdfast.worktree.paths import find_borders, is_within
from holdfast.worktree.scan import FORM, SECOND, Limits, Looking, Memory, Scan, Seen, Tracked, parse_tracked
from holdfast.worktree.scan_directories import MANY, LookEverywhere, Watching
from holdfast.worktree.user_index import Staging, scratch

FOLDED = 200  # changed paths before the private index takes them in
MEMORY_LIMIT = 1 << 30


class Shadow:
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
    def vault(self) -> Vault:
        return Vault(self.git, self.repository, self.worktree, self.reader, self.known)

    def never_kept_any(self) -> bool:
        """Whether nothing was ever kept here, because a link stands in the place of a directory of the vault."""
        return not self.git.directory.exists() and self.vault.find_link() is not None

    def close(self) -> None:
        if "reader" in self.__dict__:
            self.reader.close()
            del self.reader

    def __enter__(self) -> Shadow:
        self.prepare()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def scan(self, limits: Limits, named: Iterable[bytes] | None = None, include: Iterable[bytes] = ()) -> Scan:
        """The worktree now. With `named`, only those paths are looked at, and the rest is taken as it was."""
        if self.repository.is_its_root:  # safeguard: foreign-git-directory
            raise Refused(
                "This is the directory of a repository and no worktree, so there is nothing to keep or to restore",
                [("directory", path_text(self.root))],
                ["work in a worktree, which `git worktree add` makes"],
            )
        memory = self._load()
        if memory is None:
            return self._seed(limits, include)
        looking = Looking(self, memory, limits)
        if named is not None:
            looking.look_at(named)
        else:
            looking.look_everywhere(self._candidates(memory, looking), include)
        return looking.result()

    def remember(self, scan: Scan) -> None:
        """Keep what a scan found, once its objects are on disk. A large change is folded in by the next small one."""
        memory = scan.memory
        if len(memory.seen) > FOLDED and len(scan.changed) <= FOLDED:
            self._fold_in(memory)
        memory.index = files.signature(self.git.index)
        data = msgspec.msgpack.encode(memory)
        _scribble(f"{self.directory}/memory", zlib.crc32(data).to_bytes(4, "big") + data)

    def _fold_in(self, memory: Memory) -> None:
        """Let the private index take in what it did not know, so that git need not name it each time.

        Git reads the files once more, and writes none of them, as it might follow a link that was put on the way
        meanwhile. What somebody has changed since is remembered as not to be believed.
        """
        left_out = memory.beside.skipped
        paths = b"".join(path + b"\0" for path in memory.seen if path not in left_out)
        # safeguard: index-input-inside
        self.git.run("update-index", "-z", "--add", "--remove", "--info-only", "--stdin", input=paths)
        raw = self.git.run("diff-index", "--cached", "-z", "--no-renames", "--ignore-submodules=all", memory.tree)
        young = time.time_ns() - 2 * SECOND
        kept = {path: seen for path, seen in memory.seen.items() if path in left_out or is_young(seen, young)}
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

    def head(self) -> Head:
        return self.repository.head()

    def stands(self, path: bytes) -> bool:
        """Whether anything is at a path of the worktree."""
        return os.path.lexists(os.path.join(os.fsencode(self.root), path))

    def prepare(self) -> None:
        """Make ready for a piece of work. Whoever calls this holds the worktree's lock."""
        self.vault.refuse_links()  # safeguard: linked-place-of-checkpoints
        self.reader.pending.clear()
        self.known.refresh()
        for directory in (self.directory.parent, self.directory):
            files.make_private_directory(directory)
        for name in ("index.lock", "theirs.lock"):  # nobody else is at work here: whoever made these was killed
            (self.directory / name).unlink(missing_ok=True)
        self.git.prepare()
        if not self.git.objects.exists():
            files.make_private_directory(self.git.objects)
        self.reader.start()  # it takes as long to start as we take to need it
        self.git.excludes = self.directory / "excludes"

    def _load(self) -> Memory | None:
        """What was remembered, if it is whole and told beside the index that is there."""
        stored = files.read(self.directory / "memory", MEMORY_LIMIT)
        if stored is None or zlib.crc32(stored[4:]).to_bytes(4, "big") != stored[:4]:
            return None
        try:
            memory = msgspec.msgpack.decode(stored[4:], type=Memory)
        except msgspec.DecodeError:  # another version of ours wrote it
            return None
        is_believed = memory.form == FORM and memory.index is not None
        return memory if is_believed and memory.index == files.signature(self.git.index) else None

    def _candidates(self, memory: Memory, looking: Looking) -> list[bytes]:
        """Every path that may differ from what is remembered: git finds changed files while we look for new names."""
        differing = prefetch.take(self.git)
        try:
            self._find_excludes(memory)
            found = self._new_names(memory, looking)
            forced = self._forced(memory)
        except BaseException:
            differing.stop()
            raise
        raw = zsplit(self._answer(differing))
        changed = raw[1::2]
        looking.indexed.update(changed)
        return [*changed, *found, *forced]

    def _answer(self, differing: Running) -> bytes:
        try:
            return differing.finish()
        except Trouble:  # a head start knows less than we do; if it was not that, it fails again
            return self.git.run(*prefetch.CHANGED)

    def _new_names(self, memory: Memory, looking: Looking) -> list[bytes]:
        def known(path: bytes) -> set[bytes]:
            entry = self.reader.find(memory.tree, path) if path else Entry(DIRECTORY, b"", memory.tree)
            if entry is None or not entry.is_tree:  # what is a directory now may have been a file or link then
                return set()
            return {below.name for below in looking.tree(entry.id) if not below.is_tree}

        watching = Watching(self.git, self.borders)
        try:
            if memory.watch is None:
                raise LookEverywhere
            found = watching.look_again(memory.watch, looking.beside.empty, looking.beside.links, known)
        except LookEverywhere:
            # safeguard: forget-index-memory
            memory.user_index = memory.forced_in = None  # other files may be ignored now
            watching = Watching(self.git, self.borders)
            found = watching.look_everywhere()
        memory.watch = watching.watch
        looking.note_surroundings(watching.empty, watching.links)
        hidden = [below for path in watching.closed for below in looking.known_below(path)]  # git is silent about them
        return [*found, *hidden]

    def _forced(self, memory: Memory) -> list[bytes]:
        """Paths that the user tracks although they are ignored; asked for only when his index has changed."""
        now = self.staging.signature()
        if now is None or now == memory.user_index:
            return memory.forced
        recorded = self.staging.recorded()
        found = self._forced_since(memory, recorded) if recorded else None
        memory.user_index, memory.forced_in = now, recorded
        memory.forced = self._all_forced() if found is None else found
        return memory.forced

    def _forced_since(self, memory: Memory, recorded: str) -> list[bytes] | None:
        """The same from what has come into the index since it was last asked; None where nobody can tell."""
        found = self.staging.differences(self.reader, memory.forced_in, recorded)
        if found is None or len(found.came) > MANY:
            return None
        listed = b"".join(path + b"\0" for path in found.came)
        try:
            asked = self.git.start("check-ignore", "--no-index", "-z", "--stdin") if listed else None
            ignored = zsplit(asked.finish(listed, also_fine=(1,))) if asked else []
        except Trouble:  # git is asked for no path that a link leads to, or that could be a pattern
            return None
        return [*(path for path in memory.forced if path not in found.gone), *ignored]

    def _all_forced(self) -> list[bytes]:
        with self.staging.copied() as copy:
            arguments = ("ls-files", "-c", "-i", "-z", "--exclude-standard")
            return zsplit(self.git.run(*arguments, index=copy)) if copy is not None else []

    def _find_excludes(self, memory: Memory) -> None:
        """Join what the user ignores everywhere with what he ignores in this repository, which is heard last."""
        lists = [_read_own(self._excludes_of_user(memory))]
        if self.repository.common:
            lists.append(files.read(self.repository.common / "info" / "exclude"))
        joined = b"".join(data.removeprefix(codecs.BOM_UTF8) + b"\n" for data in lists if data)
        target = self.directory / "excludes"
        if files.read(target) != joined:
            files.write(target, joined)

    def _excludes_of_user(self, memory: Memory) -> str | Path:
        """The user's own list of what is ignored everywhere; asked for only when his settings have changed."""
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
        """Whether git leaves a path out of its lists, by the rules of the repository and the user's own."""
        self._find_excludes(self._load() or Memory("", Beside()))
        return bool(self.git.start("check-ignore", "--no-index", "-z", "--stdin").finish(path + b"\0", also_fine=(1,)))

    def _seed(self, limits: Limits, include: Iterable[bytes]) -> Scan:
        """Start from the user's own index: what is tracked and unchanged is never read again."""
        files.remove(self.git.index)
        objects: dict[str, tuple[str, bytes]] = {}
        tree = self.git.form.id_of(TREE, b"")
        staged, tracked = 0, []
        if self.staging.copy(self.git.index):
            staged = int(self.git.index.stat().st_mtime)
            tracked = self._make_plain()
            tree, objects = self.staging.tree_of(self.git.index)
        else:
            objects[tree] = (TREE, b"")
            self.git.run("read-tree", "--empty")
        memory = Memory(tree, Beside(), form=FORM)
        looking = Looking(self, memory, limits)
        looking.objects |= objects
        own = self.repository.common / "info" / "attributes" if self.repository.common else None
        converted = git_filters.converted(self.git, self.directory, [found.path for found in tracked], own)
        looking.note_tracked(tracked, staged, self._sizes(tracked), converted)
        looking.look_everywhere(self._candidates(memory, looking), include)
        return looking.result()

    def _sizes(self, tracked: list[Tracked]) -> dict[bytes, bytes]:
        """How long the index's blobs are; what is not here is not named."""
        names = b"".join(found.id + b"\n" for found in tracked)
        answers = self.git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", input=names)
        return dict(line.split(b" ") for line in answers.splitlines() if not line.endswith(b"missing"))

    def _make_plain(self) -> list[Tracked]:
        """Make our copy short, and drop what would hide changes: entries in conflict, "assume unchanged" and "skip".

        Answers with what is left in it.
        """
        self.git.run("update-index", "--no-split-index", "--index-version", "4")
        tracked = [parse_tracked(line) for line in zsplit(self.git.run("ls-files", "-v", "-s", "-z"))]
        gone = {found.path for found in tracked if self._is_none_of_ours(found)}
        self._update("--force-remove", gone)
        left = [found for found in tracked if found.path not in gone]
        self._update("--no-assume-unchanged", [found.path for found in left if found.tag.islower()])
        self._update("--no-skip-worktree", [found.path for found in left if found.is_skipped])
        return left

    def _is_none_of_ours(self, found: Tracked) -> bool:
        """What is in conflict is looked at anew. A submodule is a repository inside, which is found while it is one."""
        if found.stage != b"0" or found.is_module or is_within(found.path, self.borders):
            return True
        return found.is_skipped and not self.stands(found.path)  # a sparse checkout leaves it out

    def _update(self, how: str, paths: Collection[bytes]) -> None:
        if paths:
            self.git.run("update-index", "-z", how, "--stdin", input=b"".join(path + b"\0" for path in paths))


def is_young(seen: Seen | None, young: int) -> bool:
    """Git compares whole seconds: within one, it misses a change of permissions."""
    return seen is not None and (seen.look is None or seen.look[2] > young)


def _read_own(path: str | Path) -> bytes | None:
    """A file of the user's that may well be a link, or nothing that can be read: git does not mind either."""
    try:
        return files.read(Path(os.path.realpath(path)))
    except HoldfastError:
        return None


def _scribble(path: str, data: bytes) -> None:
    """Write a file where it stands. A kill leaves it damaged: that is for what can be made anew, and is noticed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, files.PRIVATE_FILE)
    try:
        files.write_all(descriptor, data)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
