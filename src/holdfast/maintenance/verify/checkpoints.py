"""Proving that checkpoints can be gone back to: that what they need is there, and, on demand, that it is sound."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.model import Checkpoint
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.objects import BLOB, TREE, PackIndex
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.reachability import kinds, missing, promised, reached, tips

LOST = "`holdfast checkpoints` names others; a backup of the repository may have it"
TIP = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n")  # where a ref points, as git writes it


class Problem(Struct):
    where: str
    what: str


class Proof(Struct):
    """What was found; `promised` objects are those that a partial clone has not fetched yet."""

    problems: list[Problem]
    objects: int = 0
    promised: int = 0


def prove(workspace: Workspace, found: list[Checkpoint], deep: bool) -> Proof:
    """Look whether the checkpoints of all worktrees are whole. Nothing is changed, and no lock is taken."""
    proof = Proof([])
    if not found:
        return proof
    shadow = Shadow(workspace.place, workspace.root, workspace.worktree)
    try:
        shadow.git.prepare()
        proof.problems += _parts(shadow, found)
        for worktree in sorted({made.worktree for made in found}):
            proof.problems += _shelves(workspace, worktree, [made for made in found if made.worktree == worktree])
        if deep:
            _read_everything(workspace, shadow, found, proof)
    except HoldfastError as error:
        said = "; ".join(f"{name} {value}" for name, value in error.facts)
        proof.problems.append(Problem("checkpoints", f"{error.message} ({said})"))
    except (ValueError, IndexError, struct.error) as error:  # bytes of a pack or a tree that are none any more
        proof.problems.append(Problem("checkpoints", f"what they need cannot be read ({error})"))
    finally:
        shadow.close()
    return proof


def _parts(shadow: Shadow, found: list[Checkpoint]) -> Iterator[Problem]:
    there = kinds(shadow, {id for made in found for id in _roots(made)})
    for made in found:
        for name, id, kind in (("files", made.tree, TREE), ("list beside its files", made.beside, BLOB)):
            if there.get(id) != kind:
                yield Problem(made.id, f"its {name} ({id}) are not there; {LOST}")
        if made.staged and there.get(made.staged) != TREE:
            yield Problem(made.id, f"what was staged ({made.staged}) is not there; `holdfast restore` without --index")


def _shelves(workspace: Workspace, worktree: str, found: list[Checkpoint]) -> Iterator[Problem]:
    """Whether the ref that keeps checkpoints from git's housekeeping names them all."""
    shadow = Shadow(workspace.place, workspace.root, worktree)
    try:
        vault = shadow.vault
        written = files.read(vault.home / vault.ref)
        if written is not None and not TIP.fullmatch(written):
            yield Problem(vault.ref, "this ref of ours is not as it was written")
        shelves = vault.shelves()
        there = kinds(shadow, shelves.values())
    finally:
        shadow.close()
    for made in found:
        if there.get(shelves.get(made.number, "")) != TREE:
            yield Problem(made.id, f"{vault.ref} does not name it, so `git gc` may remove what it needs")


def _read_everything(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], proof: Proof) -> None:
    roots = {id for made in found for id in _roots(made)} | set(tips(shadow).values())
    there = kinds(shadow, roots)
    lacking = missing(shadow, there)
    user_lacks = promised(shadow) if lacking else set()
    proof.promised = len(lacking & user_lacks)
    if lacking - user_lacks:
        proof.problems += _who_lacks(shadow, found, lacking - user_lacks)
    packed: set[str] = set()
    for path in shadow.vault.packs():
        try:
            shadow.git.run("verify-pack", str(path))
            packed.update(PackIndex(path, shadow.git.form).names())
        except HoldfastError as error:
            proof.problems.append(Problem(path.name, f"this pack of ours is damaged: {dict(error.facts).get('said')}"))
    names = [id for id in reached(shadow, there) if id not in packed]
    proof.objects = len(names) + len(packed)
    proof.problems += _unsound(workspace, shadow, names)


def _who_lacks(shadow: Shadow, found: list[Checkpoint], lacking: set[str]) -> Iterator[Problem]:
    for made in found:
        lost = lacking & missing(shadow, kinds(shadow, _roots(made)))
        if lost:
            yield Problem(made.id, f"{len(lost)} of its objects are not there, such as {min(lost)}; {LOST}")


def _unsound(workspace: Workspace, shadow: Shadow, names: list[str]) -> Iterator[Problem]:
    """Objects of the user's own that checkpoints rest on and that do not say what their names promise."""
    form = shadow.git.form
    for number, id in enumerate(names, 1):
        data = shadow.reader.read(id)
        if data is not None and id not in (form.id_of(BLOB, data), form.id_of(TREE, data)):
            yield Problem(id, "this object has changed since it was stored; `git fsck` says more")
        if number % 1000 == 0 or number == len(names):
            workspace.progress("reading objects", number, len(names))


def _roots(made: Checkpoint) -> list[str]:
    return [made.tree, made.beside, *([made.staged] if made.staged else [])]
