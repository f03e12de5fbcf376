"""Look at checkpoints: list them, and see what is different between two of them or since one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from holdfast import choosing
from holdfast.checkpointing import look, shadow_of
from holdfast.journal import Journal
from holdfast.model import Checkpoint
from holdfast.narration import headline
from holdfast.objects import write_pack
from holdfast.shadow import Shadow, literal
from holdfast.text import path_text
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class CheckpointsListed(Struct):
    checkpoints: list[Checkpoint]


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
        wanted = _inside(workspace, touching) if touching else None
        shown = list(islice(_touching(found, wanted), most))
    choosing.remember(workspace, "checkpoint", [checkpoint.id for checkpoint in shown])
    return CheckpointsListed(shown)


@verb
def diff(workspace: Workspace, a: str, b: str | None = None, paths: tuple[str, ...] = ()) -> Diffed:
    """What differs between two checkpoints, or between one and the worktree: the code, and what the run learned."""
    with workspace.reading() as journal:
        first = choosing.get_checkpoint(workspace, journal, a)
        second = choosing.get_checkpoint(workspace, journal, b) if b else None
        state = _learned(journal, first, second)
    limited = [literal(os.fsencode(_inside(workspace, path))) for path in paths]
    with shadow_of(workspace) as shadow:
        return Diffed(first.id, second.id if second else None, _code(workspace, shadow, first, second, limited), state)


def _code(workspace: Workspace, shadow: Shadow, first: Checkpoint, second: Checkpoint | None, paths: list[str]) -> str:
    arguments = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "--full-index", first.tree)
    with shadow.scratch() as scratch:
        if second is None:
            tree = look(workspace, shadow).tree
            write_pack(scratch, shadow.reader.pending, shadow.git.form)
        else:
            tree = second.tree
        return shadow.git.run(*arguments, tree, "--", *paths, scratch=scratch).decode("utf-8", "replace")


def _learned(journal: Journal, first: Checkpoint, second: Checkpoint | None) -> list[str]:
    """What happened to the run between two points of its journal, in a line each."""
    if first.run is None or first.seq is None or journal.find_run(first.run) is None:
        return []
    until = second.seq if second and second.run == first.run else None
    low, high = sorted((first.seq, until)) if until is not None else (first.seq, None)
    return [headline(event) for event in journal.events(first.run, after=low, until=high)]


def _touching(found: Iterator[Checkpoint], wanted: str | None) -> Iterator[Checkpoint]:
    for checkpoint in found:
        if wanted is None or any(path == wanted or path.startswith(wanted + "/") for path in checkpoint.changed):
            yield checkpoint


def _inside(workspace: Workspace, path: str) -> str:
    full = os.path.normpath(os.path.join(os.getcwd(), path))
    inside = os.path.relpath(full, workspace.root)
    return path_text(path if inside.startswith("..") else inside)
