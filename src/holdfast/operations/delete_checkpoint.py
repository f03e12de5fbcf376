"""Delete one checkpoint. Its space is given back by the next `tidy`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.fold.run import needs
from holdfast.core.model import Checkpoint, Draft, Kept, Run
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import count, one_line
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import YES, Kind, argument, option
from holdfast.operations.verb import Arguments, verb
from holdfast.project.checkpoints.create import PATIENCE
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.clock import ago
from holdfast.worktree.capture import Shadow


class CheckpointDeleted(Struct):
    checkpoint: Checkpoint
    lost_ways: int = 0  # restores that `undo` and `redo` cannot go to any more


def _ask_whether(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if given.get("yes"):
        return None
    with workspace.reading() as journal:
        made = select.get_checkpoint(workspace, journal, given["checkpoint"])
    about = one_line(made.name or made.message or made.kind, 60)
    command = f"holdfast checkpoints delete {made.id}{' --force' if given.get('force') else ''}"
    prompt = f"Delete checkpoint {made.id} ({about}, {ago(made.time)}), for good?"
    return confirmation(prompt, command, arguments={"checkpoint": made.id})


@verb("checkpoints delete", asks=_ask_whether, options=(YES,))
def delete_checkpoint(
    workspace: Workspace,
    checkpoint: Annotated[str, argument(kind=Kind.CHECKPOINT)],
    *,
    force: Annotated[
        bool, option(help="Delete one though it is pinned, or `undo`, `redo` or a step needs it.")
    ] = False,
) -> CheckpointDeleted:
    """Delete a checkpoint. One that is pinned, or that an undo, a redo or a step of a team needs, only by force."""
    with workspace.reading() as journal:
        worktree = select.get_checkpoint(workspace, journal, checkpoint).worktree
    with _alone(workspace, worktree) as shadow, workspace.writing() as journal:
        made = select.get_checkpoint(workspace, journal, checkpoint)
        ledger = journal.ledger(made.worktree)
        _refuse_unfinished(ledger, made)
        step = _step_of(journal, made)
        ways = len(ledger.undoable) + len(ledger.redoable)
        if not force:
            _refuse_needed(ledger, made, step)
        shadow.forget()  # else the next checkpoint could rest on what is pruned
        journal.append(ledger.id, Draft("checkpoint.dropped", {"id": made.id}))
        if step and made.run:
            body = {"id": step.id, "valid": False, "by": "its checkpoint was deleted"}
            journal.append(made.run, Draft("step.judged", body))
        after = journal.ledger(made.worktree)
        lost = ways - len(after.undoable) - len(after.redoable)
    select.forget_listed(workspace, {made.id})
    if lost:
        workspace.warn(f"{count(lost, 'restore')} cannot be undone or redone any more")
    return CheckpointDeleted(made, lost)


@contextlib.contextmanager
def _alone(workspace: Workspace, worktree: str) -> Iterator[Shadow]:
    """The shadow of the checkpoint's worktree, which may be another one, under its lock."""
    shadow = Shadow(workspace.place, workspace.root, worktree)
    files.make_private_directory(shadow.directory.parent)
    files.make_private_directory(shadow.directory)
    with files.lock(shadow.directory / "lock", PATIENCE):  # safeguard: lock-checkpoint-deleted
        yield shadow


def _refuse_unfinished(ledger: Run, made: Checkpoint) -> None:
    if ledger.unfinished and needs(ledger.unfinished, made.id):
        hints = ["`holdfast restore --continue` finishes it", "`holdfast restore --undo` takes it back"]
        raise Refused("A restore was interrupted, and needs this checkpoint", [("checkpoint", made.id)], hints)


def _refuse_needed(ledger: Run, made: Checkpoint, step: Kept | None) -> None:
    facts = [("checkpoint", made.id)]
    anyway = f"`holdfast checkpoints delete {made.id} --force`"
    if made.pinned:
        raise Refused("This checkpoint is pinned", facts, [f"`holdfast pin {made.id} --off` lets go of it", anyway])
    if any(needs(way, made.id) for way in (*ledger.undoable, *ledger.redoable)):
        raise Refused("`holdfast undo` or `holdfast redo` needs this checkpoint", facts, [f"{anyway} loses that way"])
    if step:
        facts.append(("step", step.id))
        raise Refused("This checkpoint is the code of a step", facts, [f"{anyway} marks the step's as not valid"])


def _step_of(journal: Journal, made: Checkpoint) -> Kept | None:
    """The step of a Go Team run whose code the checkpoint is."""
    run = journal.find_run(made.run or "")
    if run is None:
        return None
    return next((kept for kept in run.standing.kept if kept.checkpoint == made.id and kept.is_valid), None)
