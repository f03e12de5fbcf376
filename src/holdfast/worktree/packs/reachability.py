"""Reachability: which of a repository's objects checkpoints need, or anything of the user's own.

Git runs in the private directory, whose configuration is empty. Every commit in the repository counts, reachable or
not, so that reflogs, stashes and dropped commits need not be read, and no history is walked, so that shallow and
partial clones are no special case.
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
    """Yield every object below these, themselves included. Missing ones are skipped."""
    if listed := _lines(roots):
        out = shadow.git.run(*LISTED, "--no-walk=unsorted", "--stdin", input=listed)
        yield from (line.decode().strip() for line in io.BytesIO(out))


def missing(shadow: Shadow, roots: Iterable[str]) -> set[str]:
    """Return the objects below these that the repository lacks."""
    if not (listed := _lines(roots)):
        return set()
    out = shadow.git.run(*LISTED[:-1], "--missing=print", "--no-walk=unsorted", "--stdin", input=listed)
    return {line[1:].decode() for line in out.split(b"\n") if line.startswith(b"?")}


def promised(shadow: Shadow) -> set[str]:
    """Return the objects that a partial clone has not fetched yet."""
    if not any((shadow.git.objects / "pack").glob("*.promisor")):
        return set()
    return lacked_by_commits(shadow)


def lacked_by_commits(shadow: Shadow) -> set[str]:
    """Return the objects below the user's own commits that the repository lacks."""
    return missing(shadow, (id.decode() for kind, id in _pointers(shadow) if kind == b"commit"))


def kinds(shadow: Shadow, names: Iterable[str]) -> dict[str, str]:
    """Return the kinds of the objects that exist: id -> kind. `ID^{}` asks for the target of a tag."""
    if not (listed := _lines(names)):
        return {}
    check = "--batch-check=%(objectname) %(objecttype)"
    out = shadow.git.run("cat-file", check, "--buffer", input=listed).decode("utf-8", "replace")
    return dict(line.split(" ") for line in out.splitlines() if not line.endswith((" missing", " ambiguous")))


def weigh(shadow: Shadow, roots: dict[str, list[str]]) -> dict[str, int]:
    """Return how many bytes of our packs each key needs that no key before it needs, by the ids of its roots."""
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
    """Return the size on disk of each object in our packs."""
    listed = _lines({id for path in shadow.object_store.packs() for id in PackIndex(path, shadow.git.form).names()})
    check = "--batch-check=%(objectname) %(objectsize:disk)"
    lines = shadow.git.run("cat-file", check, "--buffer", input=listed).decode().splitlines()
    return {id: int(size) for id, _, size in (line.partition(" ") for line in lines) if size.isdecimal()}


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode()


def tips(shadow: Shadow) -> dict[str, str]:
    """Return the refs of all worktrees. A loose ref overrides a packed one."""
    return {name: id for name, id in _refs(shadow) if name.startswith("refs/holdfast/")}


def needed_by_user(shadow: Shadow, place: Path, also: Iterable[str]) -> Iterator[str]:
    """Yield every object below a commit, tag, ref, loose tree or index, and those in `also`."""
    pointers = _pointers(shadow)
    commits = {id.decode() for kind, id in pointers if kind == b"commit"}
    tags = [id.decode() for kind, id in pointers if kind == b"tag"]
    refs = (id for name, id in _refs(shadow) if not name.startswith("refs/holdfast/"))
    paths = shadow.git.objects.glob("[0-9a-f][0-9a-f]/*")
    loose = (path.parent.name + path.name for path in paths if NAME.match(os.fsencode(path.parent.name + path.name)))
    aside = [path.with_suffix(".idx") for path in (shadow.git.objects / "pack").glob("*.mtimes")]
    # unreachable objects that git's own garbage collection keeps for some weeks
    kept = (id for path in aside if path.exists() for id in PackIndex(path, shadow.git.form).names())
    maybe = {*loose, *kept, *refs, *also}
    found = kinds(shadow, [*maybe, *(f"{id}^{{}}" for id in tags)])
    yield from reached(shadow, {*commits, *(id for id, kind in found.items() if kind in ("commit", "tree", "blob"))})
    yield from _indexed(shadow, place)


def _pointers(shadow: Shadow) -> list[tuple[bytes, bytes]]:
    """Return every commit and tag in the repository: its kind and id."""
    out = shadow.git.run("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)")
    return POINTERS.findall(out)


def _indexed(shadow: Shadow, place: Path) -> Iterator[str]:
    """Yield the objects in the indexes of all worktrees, conflicts and cached trees included, and in ours."""
    common = shadow.repository.common
    theirs = [common / "index", *common.glob("worktrees/*/index")] if common else []
    for index in filter(Path.is_file, theirs):
        copy = shadow.directory / "looked-at"
        try:
            bring_shared(index.parent, shadow.git)
            shutil.copyfile(index, copy)
            yield from shadow.git.run(*LISTED, "--indexed-objects", index=copy).decode().split()
        finally:
            copy.unlink(missing_ok=True)
    for index in (place / "worktrees").glob("*/index"):
        with contextlib.suppress(HoldfastError):  # the next checkpoint rebuilds a damaged one
            yield from shadow.git.run(*LISTED, "--indexed-objects", index=index).decode().split()


def _refs(shadow: Shadow) -> Iterator[tuple[str, str]]:
    """Yield every ref of the repository with its object; of a name that comes twice, the last one counts."""
    home = shadow.object_store.home
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
