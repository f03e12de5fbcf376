"""The user's own index: read through copies, and put back only when somebody asks for that."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.text import path_text
from holdfast.system import files, shared_files
from holdfast.system.git.command import Git, Reader, zsplit
from holdfast.system.git.repository import Entry, Repository
from holdfast.worktree.scan import Memory

VERSIONS = (2, 3, 4)  # of git's index
STAGED = re.compile(rb"[0-7]+ [0-9a-f]+ ([0-3])\t(.*)", re.DOTALL)  # an entry, as `ls-files -s -z` tells it
IN_CONFLICT = re.compile(rb" [123]\t")  # with a path in which that stands by chance
NO_NAME = rb"(?:\.{0,2}|\.[gG][iI][tT])"  # in a path; git itself makes no such entry
MAY_LEAD_OUT, LEADS_OUT = re.compile(rb"[\t/]" + NO_NAME + rb"[/\0]"), re.compile(rb"(?:\A|/)" + NO_NAME + rb"(?:/|\Z)")
SHARED = "sharedindex.*"  # beside an index: what most of it is, if it is split
MOST = 1 << 32  # bytes of an index
END = 1 << 22  # bytes at the end of an index in which its extensions are looked for
MOST_DIRECTORIES = 1_000  # that are compared here; where more differ, git is quicker
RECORD, CANDIDATES = b"TREE", 50  # the extension of an index that names its tree; places in which one is looked for
RECORDED = re.compile(rb"\0[0-9]+ [0-9]+\n")  # how it begins, if nothing was staged since git wrote that tree
EXTENSION = re.compile(rb"[A-Za-z]{4}")


class Differences(NamedTuple):
    """What a tree holds that the one before it does not: ids of new objects, paths that came and that went."""

    ids: set[str]
    came: list[bytes]
    gone: set[bytes]

    def note(self, path: bytes, was: Entry | None, now: Entry | None) -> None:
        """A file, as it was and as it is; None where there is none, or a directory."""
        if now is not None:
            self.ids.add(now.id)
        if was is None and now is not None:
            self.came.append(path)
        if was is not None and now is None:
            self.gone.add(path)


class Staging:
    """What the user has staged in one worktree. Copies and new versions lie in our directory."""

    def __init__(self, git: Git, repository: Repository, directory: Path) -> None:
        self.git = git
        self.directory = directory
        self.relied: set[str] = set()  # objects of the user's that trees made here name, since they were last synced
        self.is_damaged = False  # the index, when it was last copied
        self.entries = b""  # of that copy, as `ls-files -s -z` tells them
        self._recorded: tuple[tuple[int, int, int] | None, str | None] = None, None  # of an index that looks so
        self._compared: tuple[tuple[str, str], Differences | None] | None = None
        self._theirs = repository.directory
        self._common = repository.common

    def signature(self) -> tuple[int, int, int] | None:
        return files.signature(self._theirs / "index") if self._theirs else None

    def way_out(self) -> str:
        """What makes a damaged index anew; in a linked worktree it lies elsewhere than in `.git`."""
        import shlex  # takes its time to load

        return f"`rm {shlex.quote(path_text(self._theirs / 'index'))} && git reset`" if self._theirs else ""

    def tree(self, memory: Memory, reader: Reader) -> str | None:
        """The index as a tree, made only when it has changed; None where there is none, or a conflict in it."""
        now = self.signature()
        if now != memory.staged_index:
            before, recorded = memory.staged, self.recorded()
            memory.staged_index, memory.staged = now, None
            if recorded and (found := self.differences(reader, before, recorded)) is not None:
                self.relied |= found.ids  # safeguard: sync-committed-objects
                memory.staged, self.is_damaged = recorded, False
            else:
                memory.staged = self._written(before, reader.pending)
            if memory.user_index == now:
                memory.forced_in = memory.staged
        return memory.staged

    def _written(self, before: str | None, pending: dict[str, tuple[str, bytes]]) -> str | None:
        """The tree of a copy of the index, written by git."""
        with self.copied() as copy:
            if copy is None or self._has_conflict():
                return None
            tree, objects = self.tree_of(copy, before)
            pending.update(objects)
            return tree

    def recorded(self) -> str | None:
        """The tree of the index as git noted it there, which a commit does; None where something was staged since."""
        now = self.signature()
        if self._theirs and self._recorded[0] != now:
            self._recorded = now, find_recorded(_end_of(self._theirs / "index"), self.git.form.size)
        return self._recorded[1] if now else None

    def differences(self, reader: Reader, before: str | None, tree: str) -> Differences | None:
        """What a tree holds that another one does not; None where that one is not known, or parts of one are lost."""
        if before is None:
            return None
        if self._compared is None or self._compared[0] != (before, tree):
            try:
                self._compared = (before, tree), compare(reader, before, tree)
            except HoldfastError:  # it may have been tidied away, or git's own objects are damaged
                return None
        return self._compared[1]

    def put_tree(self, tree: str) -> None:
        """Let the index hold this tree. What a sparse checkout leaves out stays so, or it would count as deleted."""
        if self._theirs is None:
            return
        left_out = self._left_out()
        made = self.directory / "theirs"
        files.remove(made)
        self.git.run("read-tree", tree, index=made)
        if left_out:
            there = set(zsplit(self.git.run("ls-files", "-z", index=made)))
            paths = b"".join(path + b"\0" for path in left_out if path in there)
            self.git.run("update-index", "-z", "--skip-worktree", "--stdin", index=made, input=paths)
        self.git.start("update-index", "-q", "--refresh", index=made).finish(also_fine=(1,))
        self.put(made.read_bytes())
        files.remove(made)

    def _left_out(self) -> list[bytes]:
        """Paths of the index that git was told not to look for in the worktree."""
        with self.copied() as copy:
            lines = zsplit(self.git.run("ls-files", "-v", "-z", index=copy)) if copy else []
        return [line[2:] for line in lines if line[:1] in b"Ss"]

    def put(self, data: bytes) -> None:
        """Give the index this content: locked as git locks it, and replaced by a rename."""
        if self._theirs is None:
            return
        index = self._theirs / "index"
        with files.os_errors(index):
            shared_files.replace_locked(
                index, data, self.directory / "index.new", "Somebody holds the repository's index", 0.0
            )

    def whole(self) -> bytes | None:
        """The index in one piece: of a split one, git lets the shared part go after a while."""
        if self._theirs is None:
            return None
        if any(self._theirs.glob(SHARED)):
            with self.copied() as copy:
                if copy is not None:
                    self.git.run("update-index", "--no-split-index", index=copy)
                    return files.read(copy, MOST)
        return files.read(self._theirs / "index", MOST)

    def tree_of(self, index: Path, before: str | None = None) -> tuple[str, dict[str, tuple[str, bytes]]]:
        """The tree of an index, and those of its directories that the repository does not have.

        What else it names, and the tree before it does not, is relied on from then on.
        """
        with scratch(self.directory) as place:
            tree = self.git.run("write-tree", "--missing-ok", index=index, scratch=place).decode().strip()
            made = dict(loose_objects(place))
            self.relied |= self._named(before, tree, place).difference(made)  # safeguard: sync-staged-objects
            return tree, made

    def _named(self, before: str | None, tree: str, place: Path) -> set[str]:
        """The objects that a tree holds, itself among them; only new ones, where what was there before is known."""
        if before == tree:
            return set()
        if before is not None:
            with contextlib.suppress(HoldfastError):  # it may have been tidied away
                raw = self.git.run("diff-tree", "-r", "-t", "-z", "--no-renames", before, tree, scratch=place)
                return {tree, *(line.split(b" ")[3].decode() for line in zsplit(raw)[::2])}
        return names_in(self.git, tree, place)

    @contextlib.contextmanager
    def copied(self) -> Iterator[Path | None]:
        """A copy of the index for a while."""
        target = self.directory / "theirs"
        try:
            yield self.copy(target)
        finally:
            target.unlink(missing_ok=True)

    def copy(self, target: Path) -> Path | None:
        """A copy of the index with its date, which tells git which entries it must not believe.

        None also where it begins as no index does: git does not sync its own, and a power cut may leave nothing of it.
        And where it names a file that is none of the worktree's: git looks wherever that leads, and would tell of it.
        """
        directory = self._theirs
        if directory is None:
            return None
        # safeguard: linked-index
        if os.path.islink(directory / "index"):  # to that of another repository, whose files would be told
            raise Refused("The repository's index is a link", [("path", directory / "index")], ["remove the link"])
        import shutil  # takes its time to load, and an index that did not change is not copied

        if bring_shared(directory, self.git):
            self._drop_shared()
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
        return not MAY_LEAD_OUT.search(self.entries) or not any(LEADS_OUT.search(path) for _, path in self._told())

    def _has_conflict(self) -> bool:
        return bool(IN_CONFLICT.search(self.entries)) and any(stage != b"0" for stage, _ in self._told())

    def _told(self) -> Iterator[tuple[bytes, bytes]]:
        """The stage and path of each entry. Nearly no index needs more than a look at all of them together."""
        for entry in zsplit(self.entries):
            if found := STAGED.fullmatch(entry):
                yield found[1], found[2]

    def _drop_shared(self) -> None:
        """Remove copies of shared parts that no worktree has any more."""
        if self._common is not None:
            theirs = {path.name for name in ("", "worktrees/*/") for path in self._common.glob(name + SHARED)}
            for copy in [path for path in self.git.directory.glob(SHARED) if path.name not in theirs]:
                copy.unlink(missing_ok=True)


def bring_shared(theirs: Path, git: Git) -> bool:
    """Copy the shared parts that a split index rests on to where our git looks for them; whether there were new ones.

    One of which a kill or a power cut left a part counts as none: git names them by the checksum at their end.
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
    """The tree that an index names in its extension `TREE`, by ids of this size; None where it names none.

    Extensions lie behind the entries, each with its length, up to the checksum: only what leads exactly there is one.
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
    """The last part of a file, which holds the extensions of an index; nothing of what is no file."""
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
    """What a tree holds that another one does not; None where too many directories differ."""
    found = Differences(set(), [], set())
    pairs: list[tuple[bytes, str | None, str | None]] = [(b"", before, tree)] if before != tree else []
    for above, old, new in pairs:  # which grows meanwhile
        if len(pairs) > MOST_DIRECTORIES:
            return None
        found.ids.update([new] if new else [])
        left, right = ({entry.name: entry for entry in reader.tree(id)} if id else {} for id in (old, new))
        for name in left.keys() | right.keys():
            one, other = left.get(name), right.get(name)
            if one != other:
                was, now = (entry if entry and not entry.is_tree else None for entry in (one, other))
                found.note(above + name, was, now)
                inner, outer = (entry.id if entry and entry.is_tree else None for entry in (one, other))
                pairs += [(above + name + b"/", inner, outer)] if inner != outer else []
    return found


def _begins_as_an_index(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(8)
    return head[:4] == b"DIRC" and int.from_bytes(head[4:]) in VERSIONS


def names_in(git: Git, tree: str, place: Path | None = None) -> set[str]:
    """The objects that a tree holds, itself among them; it may lie in a scratch place."""
    raw = git.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree, scratch=place)
    return {tree, *(line.split(b" ")[2].partition(b"\t")[0].decode() for line in zsplit(raw))}


@contextlib.contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """A place for objects that a git command writes by itself, so that none of them lands in the repository."""
    import shutil

    place = directory / "scratch"
    shutil.rmtree(place, ignore_errors=True)
    files.make_private_directory(place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def loose_objects(directory: Path) -> Iterable[tuple[str, tuple[str, bytes]]]:
    for path in directory.glob("??/*"):
        head, _, data = zlib.decompress(path.read_bytes()).partition(b"\0")
        yield path.parent.name + path.name, (head.split(b" ")[0].decode(), data)
