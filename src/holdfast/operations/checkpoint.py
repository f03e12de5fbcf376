"""Keep the run's state, the journal's position and the exact worktree, so that both can be returned to."""

from __future__ import annotations

import os

from msgspec import Struct

from holdfast import choosing, filters
from holdfast.checkpointing import make_checkpoint, shadow_of
from holdfast.errors import Ambiguous, NotFound, Refused, WrongUsage
from holdfast.ledger import interrupted
from holdfast.model import Checkpoint, Run
from holdfast.text import path_text
from holdfast.verbs import verb
from holdfast.wording import checked
from holdfast.workspace import Workspace


class Made(Struct):
    checkpoint: Checkpoint
    filtered: list[str] = []  # not kept, because a filter stands before them and nobody has said yes


@verb
def checkpoint(
    workspace: Workspace,
    name: str | None = None,
    *,
    message: str | None = None,
    run: str | None = None,
    files: tuple[str, ...] | None = None,
    kind: str = "asked",
) -> Made:
    """Make a checkpoint. With `files`, only those are looked at, and the rest is taken as it was.

    It works without a run too.
    """
    for text, noun in ((name, "name"), (message, "message")):
        if text is not None:
            checked(text, noun, 200 if noun == "name" else 20_000)
    workspace.create()
    if workspace.is_off:
        raise Refused("Holdfast is off here, so nothing is recorded", [("store", workspace.place)], ["`holdfast on`"])
    found = _run(workspace, run)
    named = [_inside(workspace, file) for file in files] if files is not None else None
    with shadow_of(workspace) as shadow:
        made, scan = make_checkpoint(workspace, shadow, run=found, name=name, message=message, kind=kind, named=named)
        filtered = filters.filtered(shadow.git, shadow.directory, scan.beside.skipped) if scan.beside.skipped else set()
        return Made(made, sorted(path_text(os.fsdecode(path)) for path in filtered))


def _run(workspace: Workspace, name: str | None) -> Run | None:
    with workspace.reading() as journal:
        ledger = journal.ledger_of(workspace.worktree)
        if ledger is not None and ledger.unfinished:
            workspace.warnings.append(interrupted(ledger.unfinished))
        try:
            return choosing.get_run(workspace, journal, name)
        except (NotFound, Ambiguous):
            if name:
                raise
            return None


def _inside(workspace: Workspace, file: str) -> bytes:
    """A path below the worktree, as git names it."""
    path = os.path.normpath(os.path.join(workspace.root, file))
    inside = os.path.relpath(path, workspace.root)
    if inside.startswith("..") or inside == ".":
        raise WrongUsage("This file is not in the worktree", [("file", file), ("worktree", workspace.root)])
    return os.fsencode(inside)
