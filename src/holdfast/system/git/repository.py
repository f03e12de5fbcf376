"""The user's repository as files: where it stands, what is under way, how it names objects. It is never written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.core.errors import HoldfastError
from holdfast.system import files, locate
from holdfast.system.git.objects import Format

UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}
MOST_REFS = 50_000
LONGEST = 4096  # characters of a ref: no path has more
REF = re.compile(r"refs(?:/[^/\x00-\x20\x7f~^:?*\[\\]+)+")
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
LEVELS = 3  # of directories in which git looks for objects: `objects/info/commit-graphs` has files
POINTS = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?|ref: refs/[^\x00-\x20\x7f]+")


class Head(NamedTuple):
    """Where the user's repository stands."""

    commit: str | None = None
    branch: str | None = None
    under_way: str | None = None


class Repository:
    """The user's repository, as files: never written, but for packs of our own and `refs/holdfast/`."""

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
        """Whether it says itself that this is a worktree of its own: a `.git` file may come from elsewhere."""
        return locate.git_directory(str(self.root / ".git"), surely=True) is not None

    @property
    def objects(self) -> Path | None:
        return self.common / "objects" if self.common else None

    @property
    def borrows(self) -> Path | None:
        """The list of other object directories, where there is one."""
        found = self.common / "objects" / "info" / "alternates" if self.common else None
        return found if found and os.path.lexists(found) else None

    @property
    def is_its_root(self) -> bool:
        """Whether the root is a git directory itself, as that of a bare repository is: its files are branches."""
        if not os.path.isfile(self.root / "HEAD"):
            return False
        parts = (self.root / "objects", self.root / "refs")
        return all(map(os.path.isdir, parts)) and POINTS.fullmatch(_line(self.root / "HEAD")) is not None

    def find_link(self) -> str | None:
        """A link by which git would read another repository: in the place of this one, of its refs, or of an object."""
        if self.directory is None or self.common is None:
            return None
        places = (self.root / ".git", self.directory, self.common / "refs")
        links = (os.fspath(place) for place in places if place.is_symlink())
        # safeguard: linked-objects
        return next(links, None) or next(_links(os.fspath(self.common / "objects"), LEVELS), None)

    def roots(self) -> list[Path]:
        """Where its worktrees stand, this one first. Only those that say themselves that they belong to it."""
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
        if not _is_ref(ref):  # it could name any file of this machine, and what stands there would be told
            return Head(None, None, under_way)
        return Head(self._resolve(ref), ref.removeprefix("refs/heads/"), under_way)

    def refs(self) -> dict[str, str]:
        """What HEAD and every ref say, by name: an object, or `ref: ` and another ref. Ours are not among them."""
        if self.directory is None or self.common is None:
            return {}
        loose = {"HEAD": _line(self.directory / "HEAD")}
        for directory in dict.fromkeys((self.common, self.directory)):
            loose.update(_loose_refs(directory))
        # Read last: git packs a ref before it removes the file, so that whoever looks here now misses none.
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
    """The refs that are files, by name; what is no file, or too much, is passed over."""
    left = MOST_REFS
    if not _is_plain(directory, "refs/"):  # safeguard: linked-refs
        return
    for place, _, names in os.walk(directory / "refs"):
        for name in names[:left]:
            path = Path(place, name)
            try:
                yield path.relative_to(directory).as_posix(), _line(path)
            except HoldfastError:  # a link, a pipe, or another's
                continue
        left -= len(names[:left])


def _is_plain(directory: Path, ref: str) -> bool:
    """Whether no link stands on the way to a ref: another repository may be behind it, whose commits would be told."""
    above = (directory / ref[: found.start()] for found in re.finditer("/", ref))
    return len(ref) <= LONGEST and not any(map(os.path.islink, above))


def _links(directory: str, levels: int) -> Iterator[str]:
    """What is a link in a directory and so many levels of those below it, or the directory itself."""
    if os.path.islink(directory):
        yield directory
        return
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.path
            elif levels > 1 and entry.is_dir(follow_symlinks=False):
                yield from _links(entry.path, levels - 1)


def _is_ref(name: str) -> bool:
    theirs = ".." not in name and not name.startswith("refs/holdfast/")
    return name == "HEAD" or (theirs and REF.fullmatch(name) is not None)
