"""Go back to a checkpoint, and take that back."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from holdfast import choosing, ids
from holdfast.errors import NotFound, Refused
from holdfast.model import Restore
from holdfast.returning import Restored, find_unfinished, go_back, refuse_unfinished
from holdfast.text import path_text
from holdfast.verbs import verb
from holdfast.workspace import Workspace


@verb
def restore(
    workspace: Workspace,
    checkpoint: str,
    paths: tuple[str, ...] = (),
    *,
    code: bool = True,
    state: bool = False,
    index: bool = False,
    dry_run: bool = False,
    force: bool = False,
) -> Restored:
    """Make the worktree (and, with `state`, what the run knows) equal to a checkpoint."""
    with workspace.reading() as journal:
        target = choosing.get_checkpoint(workspace, journal, checkpoint)
        refuse_unfinished(journal, workspace)
    wanted = Restore(
        id=ids.make("res"),
        time=workspace.clock.now(),
        before="",
        target=target.id,
        paths=[path_text(path) for path in paths],
        run=target.run if state else None,
        seq_after=target.seq if state else None,
        code=code,
    )
    if state and (target.run is None or target.seq is None):
        raise Refused(
            "This checkpoint was made without a run, so it knows no state",
            [("checkpoint", target.id)],
            [f"`holdfast restore {target.id} --code`"],
        )
    return go_back(workspace, wanted, dry_run=dry_run, force=force, index=index)


@verb
def continue_restore(workspace: Workspace) -> Restored:
    """Finish a restore that was killed."""
    with workspace.reading() as journal:
        unfinished = find_unfinished(journal, workspace)
    if unfinished is None:
        raise NotFound("No restore was left unfinished", [], ["`holdfast checkpoints`"])
    return go_back(workspace, unfinished, force=True, begun=True)


@verb
def undo_restore(workspace: Workspace) -> Restored:
    """Take back a restore that was killed: all is again as it was before it began."""
    with workspace.reading() as journal:
        unfinished = find_unfinished(journal, workspace)
    if unfinished is None:
        return undo(workspace)
    back = structs.replace(unfinished, target=unfinished.before, run=None)
    return go_back(workspace, back, force=True, begun=True, given_up=True)


@verb
def undo(workspace: Workspace) -> Restored:
    """Take back the last restore: every byte and every mode."""
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
        ledger = journal.ledger_of(workspace.worktree)
    if ledger is None or not ledger.undoable:
        raise NotFound("There is nothing to undo", [], ["`holdfast checkpoints` lists where one can go back to"])
    return go_back(workspace, _reverse(ledger.undoable[-1], workspace.clock.now(), "undo"), force=True)


@verb
def redo(workspace: Workspace) -> Restored:
    """Do again what was undone."""
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
        ledger = journal.ledger_of(workspace.worktree)
    if ledger is None or not ledger.redoable:
        raise NotFound("There is nothing to redo", [], ["`holdfast undo` comes first"])
    return go_back(workspace, _reverse(ledger.redoable[-1], workspace.clock.now(), "redo"), force=True)


def _reverse(done: Restore, now: datetime, word: str) -> Restore:
    return structs.replace(
        done,
        id=ids.make("res"),
        time=now,
        before="",
        target=done.before,
        seq_before=done.seq_after,
        seq_after=done.seq_before,
        verb=word,
    )
