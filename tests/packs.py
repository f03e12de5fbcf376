"""Packs of ours: which there are, how old git thinks they are, and pruning them step by step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.core.model import Draft
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import MARKED
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import LATELY, Pruned, prune


def packs(workspace: Workspace) -> list[Path]:
    with shadow_of(workspace) as shadow:
        return [path.with_suffix(".pack") for path in shadow.object_store.packs()]


def grow_old(workspace: Workspace) -> None:
    """Let more than an hour pass since git last relied on a pack of ours."""
    for pack in packs(workspace):
        if pack.stat().st_mtime != MARKED:
            then = time.time() - LATELY - 60
            os.utime(pack, (then, then))


def pruned(workspace: Workspace, during: Callable[[], object] = lambda: None) -> Pruned:
    """Prune, and do something just before packs are rewritten."""

    def say(what: str, done: int, total: int) -> None:
        if what == "rewriting packs" and done == 0 and total:
            during()

    return prune(Shadow(workspace.place, workspace.root, workspace.worktree), workspace.place, say)


def drop_all_but_the_last(workspace: Workspace) -> None:
    """Take checkpoints out of the journal and off their shelves, as a tidying does that is killed before it prunes."""
    with workspace.writing() as journal:
        _, *earlier = journal.list_checkpoints(workspace.worktree)
        ledger = journal.ledger(workspace.worktree)
        journal.append(ledger.id, *(Draft("checkpoint.dropped", {"id": made.id}) for made in earlier))
    with shadow_of(workspace) as shadow:
        shadow.object_store.drop(made.number for made in earlier)
