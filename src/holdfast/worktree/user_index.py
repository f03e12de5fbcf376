"""The user's own index: read through copies, and replaced only by an explicit `--index`."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.text import path_text
from holdfast.system import files, shared_files
from holdfast.system.git.command import Git, Reader, zsplit
from holdfast.system.git.repository import Repository
from holdfast.worktree.metadata import zjoin
from holdfast.worktree.packs.object_store import as_file, walk_differences
from holdfast.worktree.scan import Memory

VERSIONS = (2, 3, 4)  # of git's index
STAGED = re.compile(rb"[0-7]+ [0-9a-f]+ ([0-3])\t(.*)", re.DOTALL)  # an entry of `ls-files -s -z`
IN_CONFLICT = re.compile(rb" [123]\t")  # or a path that contains it by chance
NO_NAME = rb"(?:\.{0,2}|\.[gG][iI][tT])"  # component of a path; git itself makes no such entry
MAY_LEAD_OUT, LEADS_OUT = re.compile(rb"[\t/]" + NO_NAME + rb"[/\0]"), re.compile(rb"(?:\A|/)" + NO_NAME + rb"(?:/|\Z)")
SHARED = "sharedindex.*"  # beside a split index: its larger part
MOST = 1 << 32  # bytes of an index
END = 1 << 22  # bytes at the end of an index that are searched for extensions
MOST_DIRECTORIES = 1_000  # compared here; if more differ, git is quicker
RECORD, CANDIDATES = b"TREE", 50  # the extension that names the tree; matches of its name that are tried
RECORDED = re.compile(rb"\0[0-9]+ [0-9]+\n")  # its first entry, if nothing was staged since git wrote that tree
EXTENSION = re.compile(rb"[A-Za-z]{4}")


class Differences(NamedTuple):
    """Difference of a tree to an earlier one: ids of new objects, added paths and removed paths."""

    ids: set[str]
    came: list[bytes]
    gone: set[bytes]


class Staging:
    """Index of one worktree. Copies and new versions are in our own directory."""

    def __init__(self, git: Git, repository: Repository, directory: Path) -> None:
        self.git = git
        self.directory = directory
        self.relied: set[str] = set()  # the user's objects in trees made here, which git may not have synced
        self.is_damaged = False  # as of the last copy
        self.entries = b""  # of that copy: output of `ls-files -s -z`
        self._recorded: tuple[tuple[int, int, int] | None, str | None] = None, None  # signature, tree
        self._compared: tuple[tuple[str, str], Differences | None] | None = None
        self._theirs = repository.directory
        self._common = repository.common

    def signature(self) -> tuple[int, int, int] | None:
        return files.signature(self._theirs / "index") if self._theirs else None

    def way_out(self) -> str:
        """Return the command that rebuilds a damaged index; in a linked worktree it is not in `.git`."""
        import shlex  # slow to load

        return f"`rm {shlex.quote(path_text(self._theirs / 'index'))} && git reset`" if self._theirs else ""

    def tree(self, memory: Memory, reader: Reader) -> str | None:
        """Return the index as a tree, made only if it has changed; None without an index, or with a conflict in it."""
        now = self.signature()
        if now != memory.staged_index:
            before, recorded = memory.staged, self.recorded()
            memory.staged_index, memory.staged = now, None
            if recorded and (found := self.differences(reader, before, recorded)) is not None:
                self.relied |= found.ids  # safeguard: sync-committed-objects
                memory.staged, self.is_damaged = recorded, False
            else:
                with self.copied() as copy:
                    conflicts = (stage for stage, _ in self._entries() if stage != b"0")
                    if copy is not None and not (IN_CONFLICT.search(self.entries) and any(conflicts)):
                        memory.staged, objects = self.tree_of(copy, before)
                        reader.pending.update(objects)
            if memory.user_index == now:
                memory.forced_in = memory.staged
        return memory.staged

    def recorded(self) -> str | None:
        """Return the tree that git recorded in the index, as a commit does; None if something was staged since."""
        now = self.signature()
        if self._theirs and self._recorded[0] != now:
            self._recorded = now, find_recorded(_end_of(self._theirs / "index"), self.git.form.size)
        return self._recorded[1] if now else None

    def differences(self, reader: Reader, before: str | None, tree: str) -> Differences | None:
        """Compare two trees; None if the first one is unknown, or parts of it are lost."""
        if before is None:
            return None
        if self._compared is None or self._compared[0] != (before, tree):
            try:
                self._compared = (before, tree), compare(reader, before, tree)
            except HoldfastError:  # pruned, or git's own objects are damaged
                return None
        return self._compared[1]

    def put_tree(self, tree: str) -> None:
        """Replace the index by this tree. Skip-worktree bits stay, or a sparse checkout would show deleted files."""
        if self._theirs is None:
            return
        with self.copied() as copy:
            lines = zsplit(self.git.run("ls-files", "-v", "-z", index=copy)) if copy else []
        left_out = [line[2:] for line in lines if line[:1] in b"Ss"]
        made = self.directory / "theirs"
        files.remove(made)
        self.git.run("read-tree", tree, index=made)
        if left_out:
            there = set(zsplit(self.git.run("ls-files", "-z", index=made)))
            paths = zjoin(path for path in left_out if path in there)
            self.git.run("update-index", "-z", "--skip-worktree", "--stdin", index=made, input=paths)
        self.git.start("update-index", "-q", "--refresh", index=made).finish(also_fine=(1,))
        self.put(made.read_bytes())
        files.remove(made)

    def put(self, data: bytes) -> None:
        """Replace the content of the index: locked as git locks it, by a rename."""
        if self._theirs is None:
            return
        index = self._theirs / "index"
        with files.os_errors(index):
            shared_files.replace_locked(
                index, data, self.directory / "index.new", "Another process locks the repository's index", 0.0
            )

    def whole(self) -> bytes | None:
        """Return the index as one file: git deletes the shared part of a split one after a while."""
        if self._theirs is None:
            return None
        if any(self._theirs.glob(SHARED)):
            with self.copied() as copy:
                if copy is not None:
                    self.git.run("update-index", "--no-split-index", index=copy)
                    return files.read(copy, MOST)
        return files.read(self._theirs / "index", MOST)

    def tree_of(self, index: Path, before: str | None = None) -> tuple[str, dict[str, tuple[str, bytes]]]:
        """Return the tree of an index, and those of its directories that the repository lacks.

        Other objects that are new since the tree before are added to `relied`.
        """
        with scratch(self.directory) as place:
            tree = self.git.run("write-tree", "--missing-ok", index=index, scratch=place).decode().strip()
            made: dict[str, tuple[str, bytes]] = {}
            for path in place.glob("??/*"):
                head, _, data = zlib.decompress(path.read_bytes()).partition(b"\0")
                made[path.parent.name + path.name] = head.split(b" ")[0].decode(), data
            self.relied |= self._named(before, tree, place).difference(made)  # safeguard: sync-staged-objects
            return tree, made

    def _named(self, before: str | None, tree: str, place: Path) -> set[str]:
        """Return the objects of a tree, itself included; only the new ones, if the tree before is known."""
        if before == tree:
            return set()
        if before is not None:
            with contextlib.suppress(HoldfastError):  # pruned
                raw = self.git.run("diff-tree", "-r", "-t", "-z", "--no-renames", before, tree, scratch=place)
                return {tree, *(line.split(b" ")[3].decode() for line in zsplit(raw)[::2])}
        return names_in(self.git, tree, place)

    @contextlib.contextmanager
    def copied(self) -> Iterator[Path | None]:
        """Copy the index for the duration of a block."""
        target = self.directory / "theirs"
        try:
            yield self.copy(target)
        finally:
            target.unlink(missing_ok=True)

    def copy(self, target: Path) -> Path | None:
        """Copy the index with its date, by which git knows which entries are racy.

        Returns None for a file that is no index: git does not sync its own, and a power cut may leave it empty. Also
        for an index with a path that leads out of the worktree: git would follow it, and reveal what is there.
        """
        directory = self._theirs
        if directory is None:
            return None
        # safeguard: linked-index
        if os.path.islink(
            directory / "index"
        ):  # to the index of another repository, whose file names would be revealed
            raise Refused("The repository's index is a link", [("path", directory / "index")], ["remove the link"])
        import shutil  # slow to load, and an unchanged index is not copied

        if bring_shared(directory, self.git) and self._common is not None:
            theirs = {path.name for name in ("", "worktrees/*/") for path in self._common.glob(name + SHARED)}
            for copy in [path for path in self.git.directory.glob(SHARED) if path.name not in theirs]:
                copy.unlink(missing_ok=True)  # no worktree has this shared part any more
        try:
            shutil.copy2(directory / "index", target)
        except FileNotFoundError:
            return None
        target.chmod(files.PRIVATE_FILE)
        # safeguard: index-target-inside
        self.is_damaged = not (_begins_as_an_index(target) and self._stays_inside(target))
        if self.is_damaged:
            target.unlink()
            return None
        return target

    def _stays_inside(self, index: Path) -> bool:
        self.entries = self.git.run("ls-files", "-s", "-z", index=index)
        return not MAY_LEAD_OUT.search(self.entries) or not any(LEADS_OUT.search(path) for _, path in self._entries())

    def _entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the stage and path of each entry. For nearly every index, a regex over all of them is enough."""
        for entry in zsplit(self.entries):
            if found := STAGED.fullmatch(entry):
                yield found[1], found[2]


def bring_shared(theirs: Path, git: Git) -> bool:
    """Copy the shared parts of a split index to where our git looks for them. Returns whether there were new ones.

    A partial copy, left by a kill or power cut, is replaced: the name has the checksum that is at the end of the file.
    """
    found = [path for path in theirs.glob(SHARED) if not path.is_symlink()]
    lacking = [path for path in found if not _is_copied(path, git.directory / path.name, git.form.size)]
    for path in lacking:
        files.put(git.directory / path.name, files.read(path, MOST) or b"")
    if lacking:
        files.sync_directory(git.directory)  # safeguard: sync-shared-index-name
    return bool(lacking)


def _is_copied(shared: Path, copy: Path, size: int) -> bool:
    try:
        with open(copy, "rb") as file:
            long = file.seek(0, os.SEEK_END)
            file.seek(max(0, long - size))
            return long == shared.stat().st_size and file.read().hex() == shared.name.partition(".")[2]
    except FileNotFoundError:
        return False


def find_recorded(index: bytes, size: int) -> str | None:
    """Return the tree that an index names in its extension `TREE`, by ids of this size; None if there is none.

    Extensions follow the entries, each with its length, up to the checksum. Bytes that look like one but do not lead
    exactly to the checksum are not one.
    """
    end, at = len(index) - size, len(index)
    for _ in range(CANDIDATES):
        at = index.rfind(RECORD, 0, at)
        if at < 0:
            return None
        if _leads_to(index, at, end):
            found = RECORDED.match(index, at + 8)
            return index[found.end() : found.end() + size].hex() if found and found.end() + size <= end else None
    return None


def _end_of(path: Path) -> bytes:
    """Read the end of a file, where an index has its extensions; nothing if it is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        file.seek(max(0, os.fstat(descriptor).st_size - END))
        return file.read(END)


def _leads_to(index: bytes, at: int, end: int) -> bool:
    while at < end and EXTENSION.match(index, at):
        at += 8 + int.from_bytes(index[at + 4 : at + 8])
    return at == end


def compare(reader: Reader, before: str, tree: str) -> Differences | None:
    """Return the difference of a tree to an earlier one; None if too many directories differ."""
    found = Differences({tree} if before != tree else set(), [], set())
    directories = 1
    for path, was, now in walk_differences(reader, before, tree):
        directories += any(entry and entry.is_tree for entry in (was, now))
        if directories > MOST_DIRECTORIES:
            return None
        found.ids.update([now.id] if now else [])
        had, has = as_file(was), as_file(now)
        if had and not has:
            found.gone.add(path)
        elif has and not had:
            found.came.append(path)
    return found


def _begins_as_an_index(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(8)
    return head[:4] == b"DIRC" and int.from_bytes(head[4:]) in VERSIONS


def names_in(git: Git, tree: str, place: Path | None = None) -> set[str]:
    """Return the objects of a tree, itself included; the tree may be in a scratch directory."""
    raw = git.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree, scratch=place)
    return {tree, *(line.split(b" ")[2].partition(b"\t")[0].decode() for line in zsplit(raw))}


@contextlib.contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """Provide a directory for objects that a git command writes, so that none of them gets into the repository."""
    import shutil

    place = directory / "scratch"
    shutil.rmtree(place, ignore_errors=True)
    files.make_private_directory(place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
