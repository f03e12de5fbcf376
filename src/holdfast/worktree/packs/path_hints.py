"""What objects are called: git finds similar objects by their paths, and stores them as small differences."""

from __future__ import annotations

from holdfast.system.git.objects import TREE, parse_tree
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.reachability import kinds


def name_objects(shadow: Shadow, ids: set[str]) -> bytes:
    """A line for each object, as `git pack-objects` reads it: its id, and the end of a path at which it stands."""
    trees = [id for id, kind in kinds(shadow, ids).items() if kind == TREE]
    above: dict[str, tuple[str, bytes]] = {}
    for tree, data in zip(trees, shadow.reader.read_many(trees), strict=True):
        for entry in parse_tree(data or b"", shadow.git.form):
            if entry.id in ids:
                above[entry.id] = (tree, entry.name)
    return b"".join(id.encode() + b" " + _path(id, above) + b"\n" for id in sorted(ids))


def _path(id: str, above: dict[str, tuple[str, bytes]]) -> bytes:
    """The last two names of the way to an object: enough to tell files of one name apart."""
    parent, name = above.get(id, ("", b""))
    return (above.get(parent, ("", b""))[1] + b"/" + name).replace(b"\n", b"?")
