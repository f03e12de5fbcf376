"""The shadow of a worktree: its exact content as a git tree that nobody sees.

A private index remembers what files looked like, so that git finds changes by looking at their dates. What changed
since that index was made lies in the `Memory` beside it, so that a checkpoint costs what changed and not what exists.
Both are caches: lost or damaged, they are made anew.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from holdfast import files, ids
from holdfast.beside import Beside
from holdfast.errors import HoldfastError
from holdfast.git import Git, Head, Reader, Repository, zsplit
from holdfast.looking import SECOND, Limits, Looking, Memory, Scan
from holdfast.objects import TREE, Entry, Known
from holdfast.vault import Vault

FOLDED = 2_000  # changed paths before the private index takes them in


class Shadow:
    def __init__(self, place: Path, root: Path, worktree: str) -> None:
        self.root = root
        self.repository = Repository(root)
        self.directory = place / "worktrees" / ids.file_name(worktree)
        common = self.repository.common
        objects = common / "objects" if common else place / "git" / "objects"
        self.git = Git(place / "git", root, objects, self.directory / "index", self.repository.format())
        self.worktree = worktree

    @functools.cached_property
    def reader(self) -> Reader:
        return Reader(self.git)

    @functools.cached_property
    def known(self) -> Known:
        return Known(self.git.objects, self.git.form)

    @property
    def vault(self) -> Vault:
        return Vault(self.git, self.repository, self.worktree, self.reader, self.known)

    def close(self) -> None:
        if "reader" in self.__dict__:
            self.reader.close()
            del self.reader

    def __enter__(self) -> Shadow:
        self._prepare()
        self.reader  # noqa: B018 - started early, so that it is ready when it is asked
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def scan(self, limits: Limits, named: Iterable[bytes] | None = None, include: Iterable[bytes] = ()) -> Scan:
        """The worktree now. With `named`, only those paths are looked at, and the rest is taken as it was."""
        memory = self._load()
        if memory is None:
            return self._seed(limits, include)
        looking = Looking(self, memory, limits)
        if named is not None:
            looking.look_at(named)
        else:
            looking.look_everywhere(self._candidates(memory, looking), include)
        return looking.result()

    def remember(self, memory: Memory) -> None:
        """Keep what a scan found, once its objects are on disk."""
        if len(memory.seen) > FOLDED:
            self._fold_in(memory)
        files.write(self.directory / "memory", msgspec.msgpack.encode(memory), files.PRIVATE_FILE)

    def _fold_in(self, memory: Memory) -> None:
        """Let the private index take in what it did not know, so that git need not name it each time."""
        paths = b"".join(path + b"\0" for path in memory.seen)
        with self.scratch() as scratch:
            self.git.run("update-index", "-z", "--add", "--remove", "--stdin", input=paths, scratch=scratch)
        young = time.time_ns() - 2 * SECOND
        memory.seen = {
            path: seen for path, seen in memory.seen.items() if seen and (seen.look is None or seen.look[2] > young)
        }

    def forget(self) -> None:
        """Make the next scan start from the repository's own index."""
        for name in ("memory", "index"):
            files.remove(self.directory / name)

    def head(self) -> Head:
        return self.repository.head()

    def _prepare(self) -> None:
        for directory in (self.directory.parent, self.directory):
            files.make_private_directory(directory)
        for name in ("index.lock", "theirs.lock"):  # we hold the worktree's lock: whoever made these was killed
            files.remove(self.directory / name)
        self.git.prepare()
        if not self.git.objects.exists():
            files.make_private_directory(self.git.objects)
        if self.repository.common:
            mirror(self.repository.common / "info" / "exclude", self.git.directory / "info" / "exclude")

    def _load(self) -> Memory | None:
        data = files.read(self.directory / "memory")
        if data is None or not self.git.index.exists():
            return None
        try:
            return msgspec.msgpack.decode(data, type=Memory)
        except msgspec.DecodeError:
            return None

    def _candidates(self, memory: Memory, looking: Looking) -> list[bytes]:
        """Every path that may differ from what is remembered, found by two git commands side by side."""
        differing = self.git.start("diff-files", "-z", "--no-renames", "--ignore-submodules=all")
        untracked = self.git.start("ls-files", "-o", "-z", "--directory", *self._excludes())
        forced = self._forced(memory)
        looking.start_over()
        raw = zsplit(differing.finish())
        changed = raw[1::2]
        for line, path in zip(raw[::2], changed, strict=True):
            looking.indexed[path] = indexed_entry(line)
        # Where a directory stands in the place of a file that the index knows, git names nothing below it.
        replaced = [path + b"/" for path in changed if looking.is_directory(path)]
        others = self._expand([*zsplit(untracked.finish()), *replaced], looking)
        return [*changed, *others, *forced]

    def _forced(self, memory: Memory) -> list[bytes]:
        """Paths that the user tracks although they are ignored; asked for only when his index has changed."""
        now = signature(self.repository.directory / "index") if self.repository.directory else None
        if now is None or now == memory.user_index:
            return memory.forced
        memory.user_index = now
        copy = self._copy_user_index(self.directory / "theirs")
        memory.forced = (
            zsplit(self.git.run("ls-files", "-c", "-i", "-z", *self._excludes(), index=copy)) if copy else []
        )
        return memory.forced

    def _expand(self, names: list[bytes], looking: Looking) -> list[bytes]:
        """Untracked files. A directory that git names as a whole is a nested repository, empty, or looked into."""
        plain = [name for name in names if not name.endswith(b"/")]
        inside = []
        for name in names:
            if name.endswith(b"/") and name != b".holdfast/":
                path = os.fsencode(self.root) + b"/" + name
                if os.path.lexists(path + b".git"):
                    looking.link(name.rstrip(b"/"))
                elif looking.note_empty(name.rstrip(b"/")):
                    inside.append(name)
        if not inside:
            return plain
        found = zsplit(self.git.run("ls-files", "-o", "-z", *self._excludes(), "--", *map(literal, inside)))
        for name in found:
            if name.endswith(b"/"):
                looking.link(name.rstrip(b"/"))
        return plain + [name for name in found if not name.endswith(b"/")]

    def _excludes(self) -> list[str]:
        theirs = user_excludes()
        return ["--exclude-standard", *([f"--exclude-from={theirs}"] if theirs else [])]

    def _seed(self, limits: Limits, include: Iterable[bytes]) -> Scan:
        """Start from the user's own index: what is tracked and unchanged is never read again."""
        files.remove(self.git.index)
        objects: dict[str, tuple[str, bytes]] = {}
        tree = self.git.form.id_of(TREE, b"")
        if self._copy_user_index(self.git.index):
            self._make_plain()
            tree, objects = self._tree_of_index(self.git.index)
        else:
            objects[tree] = (TREE, b"")
            self.git.run("read-tree", "--empty")
        memory = Memory(tree, Beside())
        looking = Looking(self, memory, limits)
        looking.objects |= objects
        tracked = zsplit(self.git.run("ls-files", "-s", "-z"))
        looking.note_tracked(tracked, int(self.git.index.stat().st_mtime), self._sizes(tracked))
        looking.look_everywhere(self._candidates(memory, looking), include)
        return looking.result()

    def _sizes(self, tracked: list[bytes]) -> dict[bytes, bytes]:
        """How long the index's blobs are; what is not here is not named."""
        names = b"".join(line.split(b" ", 2)[1] + b"\n" for line in tracked)
        answers = self.git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", input=names)
        return dict(line.split(b" ") for line in answers.splitlines() if not line.endswith(b"missing"))

    def filtered(self, paths: Iterable[bytes]) -> set[bytes]:
        """Which of these the repository sends through a filter, as Git LFS and git-crypt do."""
        listed = list(paths)
        if not any(names_filter(path) for path in self._attributes(listed)):
            return set()
        plain = self.directory / "plain"
        if not (plain / "HEAD").exists():
            Git(plain, self.root, self.git.objects, self.git.index, self.git.form).prepare()
            files.remove(plain / "info" / "attributes")
        bare = Git(plain, self.root, self.git.objects, self.git.index, self.git.form)
        raw = zsplit(bare.run("check-attr", "-z", "--stdin", "filter", input=b"".join(p + b"\0" for p in listed)))
        values = dict(zip(raw[::3], raw[2::3], strict=True))
        return {path for path, value in values.items() if value not in (b"unspecified", b"unset")}

    def _attributes(self, paths: list[bytes]) -> set[Path]:
        """Every .gitattributes file that could speak about these paths."""
        directories = {b""}
        for path in paths:
            while path := os.path.dirname(path):
                directories.add(path)
        return {self.root / os.fsdecode(directory) / ".gitattributes" for directory in directories}

    def stage(self, scan: Scan) -> str | None:
        """The user's index as a tree, made only when it has changed; None where there is none, or a conflict in it."""
        memory = scan.memory
        now = signature(self.repository.directory / "index") if self.repository.directory else None
        if now != memory.staged_index:
            memory.staged_index, memory.staged = now, None
            copy = self._copy_user_index(self.directory / "theirs")
            if copy is not None and not self.git.run("ls-files", "-u", "-z", index=copy):
                memory.staged, objects = self._tree_of_index(copy)
                self.reader.pending.update(objects)
        return memory.staged

    def put_staged(self, tree: str) -> None:
        """Give the user's index the content it had. It is locked as git locks it, and replaced by a rename."""
        directory = self.repository.directory
        if directory is None:
            return
        made = self.directory / "theirs"
        files.remove(made)
        self.git.run("read-tree", tree, index=made)
        self.git.start("update-index", "-q", "--refresh", index=made).finish(also_fine=(1,))
        lock = directory / "index.lock"
        with files.os_errors(lock):
            descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with open(descriptor, "wb") as file:
                file.write(made.read_bytes())
                file.flush()
                os.fsync(file.fileno())
            os.rename(lock, directory / "index")
        except BaseException:
            files.remove(lock)
            raise
        files.sync_directory(directory)

    def _tree_of_index(self, index: Path) -> tuple[str, dict[str, tuple[str, bytes]]]:
        """The tree of an index, and those of its directories that the repository does not have."""
        with self.scratch() as scratch:
            tree = self.git.run("write-tree", "--missing-ok", index=index, scratch=scratch).decode().strip()
            return tree, dict(loose_objects(scratch))

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A place for objects that a git command writes by itself, so that none of them lands in the repository."""
        scratch = self.directory / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        files.make_private_directory(scratch)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _copy_user_index(self, target: Path) -> Path | None:
        """A copy of the user's index with its date, which tells git which entries it must not believe."""
        directory = self.repository.directory
        if directory is None:
            return None
        for shared in directory.glob("sharedindex.*"):
            if not (self.git.directory / shared.name).exists():
                shutil.copyfile(shared, self.git.directory / shared.name)
        try:
            shutil.copy2(directory / "index", target)
        except FileNotFoundError:
            return None
        target.chmod(files.PRIVATE_FILE)
        return target

    def _make_plain(self) -> None:
        """Drop from our copy what would hide changes: entries in conflict, and "assume unchanged"."""
        unmerged = {line.partition(b"\t")[2] for line in zsplit(self.git.run("ls-files", "-u", "-z"))}
        if unmerged:
            self.git.run("update-index", "-z", "--force-remove", "--stdin", input=b"".join(p + b"\0" for p in unmerged))
        hidden = [line[2:] for line in zsplit(self.git.run("ls-files", "-v", "-z")) if line[:1].islower()]
        if hidden:
            paths = b"".join(path + b"\0" for path in hidden)
            self.git.run("update-index", "-z", "--no-assume-unchanged", "--stdin", input=paths)


def indexed_entry(line: bytes) -> Entry | None:
    """The index's side of a raw line of diff-files: `:100644 100755 ID ID M`."""
    mode, _, id, _, _ = line[1:].split(b" ")
    return Entry(int(mode, 8), b"", id.decode()) if int(mode, 8) else None


def signature(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def mirror(source: Path, target: Path) -> None:
    """Keep a small file of the repository's the same in our private directory."""
    theirs = files.read(source) or b""
    if (files.read(target) or b"") != theirs:
        files.write(target, theirs)


def names_filter(attributes: Path) -> bool:
    try:
        return b"filter=" in (files.read(attributes) or b"")
    except HoldfastError:  # not a file
        return False


def literal(path: bytes) -> str:
    return ":(top,literal)" + os.fsdecode(path)


def loose_objects(directory: Path) -> Iterable[tuple[str, tuple[str, bytes]]]:
    for path in directory.glob("??/*"):
        head, _, data = zlib.decompress(path.read_bytes()).partition(b"\0")
        yield path.parent.name + path.name, (head.split(b" ")[0].decode(), data)


def user_excludes() -> str | None:
    """The user's own list of what git ignores everywhere."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    path = os.path.join(home, "git", "ignore")
    return path if os.path.exists(path) else None
