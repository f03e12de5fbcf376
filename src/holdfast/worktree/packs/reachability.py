"""What is still needed of a repository's objects: by checkpoints, and by anything that is the user's own.

All of it is asked through the private directory, whose configuration is empty. Every commit that the repository holds
counts, reachable or not, so that reflogs, stashes and commits that were just dropped need not be read one by one, and
no history is walked, so that shallow and partial clones are nothing special.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.system import files
from holdfast.system.git.repository import PackIndex
from holdfast.worktree.capture import Shadow
from holdfast.worktree.user_index import bring_shared

LISTED = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any")
POINTERS = re.compile(rb"^(commit|tag) ([0-9a-f]+)$", re.MULTILINE)
NAME = re.compile(rb"^[0-9a-f]{40,64}$")


def reached(shadow: Shadow, roots: Iterable[str]) -> Iterator[str]:
    """Every object that these lead to, themselves included. What the repository lacks is passed over."""
    listed = "".join(f"{id}\n" for id in roots).encode()
    if listed:
        out = shadow.git.run(*LISTED, "--no-walk=unsorted", "--stdin", input=listed)
        yield from (line.decode().strip() for line in io.BytesIO(out))


def missing(shadow: Shadow, roots: Iterable[str]) -> set[str]:
    """Objects that these lead to and the repository lacks."""
    listed = "".join(f"{id}\n" for id in roots).encode()
    if not listed:
        return set()
    out = shadow.git.run(*LISTED[:-1], "--missing=print", "--no-walk=unsorted", "--stdin", input=listed)
    return {line[1:].decode() for line in out.split(b"\n") if line.startswith(b"?")}


def promised(shadow: Shadow) -> set[str]:
    """What the user's own commits lack too: a partial clone fetches it when it is asked for."""
    if not any((shadow.git.objects / "pack").glob("*.promisor")):
        return set()
    return lacked_by_commits(shadow)


def lacked_by_commits(shadow: Shadow) -> set[str]:
    """Objects that the user's own commits lead to and the repository lacks."""
    return missing(shadow, (id.decode() for kind, id in _pointers(shadow) if kind == b"commit"))


def kinds(shadow: Shadow, names: Iterable[str]) -> dict[str, str]:
    """What these objects are, as far as they are there: id -> kind. `ID^{}` asks for what a tag stands for."""
    listed = "".join(f"{name}\n" for name in names).encode()
    if not listed:
        return {}
    check = "--batch-check=%(objectname) %(objecttype)"
    out = shadow.git.run("cat-file", check, "--buffer", input=listed).decode("utf-8", "replace")
    return dict(line.split(" ") for line in out.splitlines() if not line.endswith((" missing", " ambiguous")))


def weigh(shadow: Shadow, roots: dict[str, list[str]]) -> dict[str, int]:
    """How many bytes of our packs each key needs that none before it needs. It has the objects that it starts from."""
    there = kinds(shadow, [id for ids in roots.values() for id in ids])
    owners: dict[str, str] = {}
    for key, ids in roots.items():
        for id in ids:
            owners.setdefault(id, key)
    sizes = _sizes(shadow)
    weights = dict.fromkeys(roots, 0)
    owner = ""
    for id in reached(shadow, [id for id in owners if id in there]):
        owner = owners.get(id, owner)
        weights[owner] += sizes.get(id, 0)
    return weights


def _sizes(shadow: Shadow) -> dict[str, int]:
    """What each object of our packs takes on the disk."""
    names = {id for path in shadow.vault.packs() for id in PackIndex(path, shadow.git.form).names()}
    listed = "".join(f"{id}\n" for id in names).encode()
    check = "--batch-check=%(objectname) %(objectsize:disk)"
    lines = shadow.git.run("cat-file", check, "--buffer", input=listed).decode().splitlines()
    return {id: int(size) for id, _, size in (line.partition(" ") for line in lines) if size.isdecimal()}


def tips(shadow: Shadow) -> dict[str, str]:
    """Where the refs of all worktrees point. A loose ref stands before a packed one."""
    return {name: id for name, id in _refs(shadow) if name.startswith("refs/holdfast/")}


def needed_by_user(shadow: Shadow, place: Path, also: Iterable[str]) -> Iterator[str]:
    """Every object that a commit, tag, ref, loose tree or index leads to. `also` names objects that git just used."""
    pointers = _pointers(shadow)
    commits = {id.decode() for kind, id in pointers if kind == b"commit"}
    tags = [id.decode() for kind, id in pointers if kind == b"tag"]
    refs = (id for name, id in _refs(shadow) if not name.startswith("refs/holdfast/"))
    maybe = {*_unpacked(shadow.git.objects), *_set_aside(shadow), *refs, *also}
    found = kinds(shadow, [*maybe, *(f"{id}^{{}}" for id in tags)])
    yield from reached(shadow, {*commits, *(id for id, kind in found.items() if kind in ("commit", "tree", "blob"))})
    yield from _indexed(shadow, place)


def _pointers(shadow: Shadow) -> list[tuple[bytes, bytes]]:
    """Every commit and tag that the repository holds: its kind and its id."""
    out = shadow.git.run("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)")
    return POINTERS.findall(out)


def _indexed(shadow: Shadow, place: Path) -> Iterator[str]:
    """What the indexes of all worktrees hold, conflicts and remembered directories included; and ours."""
    for index in _indexes(shadow):
        with _copied(shadow, index) as copy:
            yield from shadow.git.run(*LISTED, "--indexed-objects", index=copy).decode().split()
    for index in (place / "worktrees").glob("*/index"):
        with contextlib.suppress(HoldfastError):  # a damaged one is made anew by the next checkpoint
            yield from shadow.git.run(*LISTED, "--indexed-objects", index=index).decode().split()


def _indexes(shadow: Shadow) -> list[Path]:
    common = shadow.repository.common
    if common is None:
        return []
    return [path for path in (common / "index", *common.glob("worktrees/*/index")) if path.is_file()]


@contextlib.contextmanager
def _copied(shadow: Shadow, index: Path) -> Iterator[Path]:
    """A copy of an index, with the shared part that a split one rests on where git looks for it."""
    copy = shadow.directory / "looked-at"
    try:
        bring_shared(index.parent, shadow.git)
        shutil.copyfile(index, copy)
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _refs(shadow: Shadow) -> Iterator[tuple[str, str]]:
    """Every ref of the repository with the object it names; for a name that comes twice, the last one holds."""
    home = shadow.vault.home
    if shadow.repository.uses_reftable():
        out = shadow.git.run("for-each-ref", "--format=%(objectname) %(refname)", home=home)
        yield from ((name, id) for id, _, name in (line.partition(" ") for line in out.decode().splitlines()))
        return
    for line in (files.read(home / "packed-refs") or b"").splitlines():
        id, _, name = line.partition(b" ")
        if NAME.match(id):
            yield os.fsdecode(name), id.decode()
    for top in (home, *home.glob("worktrees/*")):
        for directory, _, leaves in os.walk(top / "refs"):
            for path in (Path(directory, leaf) for leaf in leaves if not leaf.endswith(".lock")):
                id = (files.read(path) or b"").strip()
                if NAME.match(id):
                    yield str(path.relative_to(top)), id.decode()


def _unpacked(objects: Path) -> Iterator[str]:
    for directory in objects.glob("[0-9a-f][0-9a-f]"):
        yield from (
            directory.name + name for name in os.listdir(directory) if NAME.match((directory.name + name).encode())
        )


def _set_aside(shadow: Shadow) -> Iterator[str]:
    """Objects that git's own housekeeping keeps for some weeks although nothing leads to them."""
    for path in (shadow.git.objects / "pack").glob("*.mtimes"):
        if path.with_suffix(".idx").exists():
            yield from PackIndex(path.with_suffix(".idx"), shadow.git.form).names()
