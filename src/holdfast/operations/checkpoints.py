"""Look at checkpoints: list them, and see what is different between two of them or since one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from holdfast import choosing
from holdfast.checkpointing import look, shadow_of
from holdfast.journal import Journal
from holdfast.model import Checkpoint, Restore
from holdfast.narration import headline
from holdfast.objects import write_pack
from holdfast.returning import find_unfinished, refuse_nameless
from holdfast.shadow import Shadow
from holdfast.text import path_text
from holdfast.verbs import verb
from holdfast.watching import literal
from holdfast.workspace import Workspace


class CheckpointsListed(Struct):
    checkpoints: list[Checkpoint]
    unfinished: Restore | None = None


class Diffed(Struct):
    a: str
    b: str | None  # None: the worktree
    code: str
    state: list[str]


@verb
def checkpoints(
    workspace: Workspace, *, touching: str | None = None, run: str | None = None, limit: int | None = None
) -> CheckpointsListed:
    """Checkpoints of this worktree, newest first; only those in which a path changed."""
    most = limit or workspace.settings.whole("list.limit")
    with workspace.reading() as journal:
        id = choosing.find_by_name(workspace, journal, run).id if run else None
        found = journal.list_checkpoints(None if id else workspace.worktree, run=id)
        wanted = path_text(os.fsdecode(choosing.inside(workspace, touching))) if touching else ""
        shown = list(islice(_touching(found, wanted), most))
        unfinished = find_unfinished(journal, workspace)
    choosing.remember(workspace, "checkpoint", [checkpoint.id for checkpoint in shown])
    return CheckpointsListed(shown, unfinished)


@verb
def diff(workspace: Workspace, a: str, b: str | None = None, paths: tuple[str, ...] = ()) -> Diffed:
    """What differs between two checkpoints, or between one and the worktree: the code, and what the run learned.

    Paths are meant from the worktree's root, unless they are absolute.
    """
    inside = [choosing.inside(workspace, path) for path in paths]
    with workspace.reading() as journal:
        first = choosing.get_checkpoint(workspace, journal, a)
        second = choosing.get_checkpoint(workspace, journal, b) if b else None
        state = _learned(journal, first, second)
    with shadow_of(workspace) as shadow:
        code = _code(workspace, shadow, first, second, inside if b"" not in inside else [])
    return Diffed(first.id, second.id if second else None, code, state)


def _code(
    workspace: Workspace, shadow: Shadow, first: Checkpoint, second: Checkpoint | None, paths: list[bytes]
) -> str:
    arguments = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "--full-index", first.tree)
    scan = look(workspace, shadow) if second is None else None
    tree = scan.tree if scan else second.tree if second else first.tree
    _refuse_unknown(shadow, first, tree, paths)
    with shadow.scratch() as scratch:  # what was only looked at is not on disk
        if scan:
            write_pack(scratch, shadow.reader.pending, shadow.git.form)
        limited = (literal(path) for path in paths)
        return shadow.git.run(*arguments, tree, "--", *limited, scratch=scratch).decode("utf-8", "replace")


def _refuse_unknown(shadow: Shadow, first: Checkpoint, tree: str, paths: list[bytes]) -> None:
    reader = shadow.reader
    refuse_nameless(
        first.id, [path for path in paths if not (reader.find(first.tree, path) or reader.find(tree, path))]
    )


def _learned(journal: Journal, first: Checkpoint, second: Checkpoint | None) -> list[str]:
    """What happened to the run between two points of its journal, in a line each."""
    if first.run is None or first.seq is None or journal.find_run(first.run) is None:
        return []
    until = second.seq if second and second.run == first.run else None
    low, high = sorted((first.seq, until)) if until is not None else (first.seq, None)
    return [headline(event) for event in journal.events(first.run, after=low, until=high)]


def _touching(found: Iterator[Checkpoint], wanted: str) -> Iterator[Checkpoint]:
    for checkpoint in found:
        if not wanted or any(path == wanted or path.startswith(wanted + "/") for path in checkpoint.changed):
            yield checkpoint
