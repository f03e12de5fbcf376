"""Go back to a checkpoint, and take that back."""

from __future__ import annotations

from holdfast.core import ids
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Checkpoint, Restore
from holdfast.core.text import escape_path
from holdfast.journal.journal import Journal
from holdfast.operations.verb import verb
from holdfast.project.checkpoints.interrupted import find_unfinished
from holdfast.project.checkpoints.restore import Restored, finish, go_back, reversed_way
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


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
    """Make the worktree (and, with `state`, what the run knows) equal to a checkpoint.

    Paths are meant from the worktree's root, unless they are absolute.
    """
    if paths and not code:
        raise WrongUsage("What a run knows has no paths", [], ["leave out the paths", "or leave out `--state`"])
    inside = [select.inside(workspace, path) for path in paths]

    def choose(journal: Journal) -> Restore:
        target = select.get_checkpoint(workspace, journal, checkpoint)
        if state:
            _refuse_without_state(target)
        return Restore(
            id=ids.make("res"),
            time=workspace.clock.now(),
            before="",
            target=target.id,
            paths=[escape_path(path) for path in inside] if b"" not in inside else [],
            run=target.run if state else None,
            seq_after=target.seq if state else None,
            code=code,
            index=index,
        )

    return go_back(workspace, choose, dry_run=dry_run, force=force)


@verb
def continue_restore(workspace: Workspace) -> Restored:
    """Finish a restore that was killed."""
    return finish(workspace)


@verb
def undo_restore(workspace: Workspace) -> Restored:
    """Take back a restore that was killed: all is again as it was before it began. Without one, it is `undo`."""
    with workspace.reading() as journal:
        unfinished = find_unfinished(journal, workspace)
    return finish(workspace, take_back=True) if unfinished else undo(workspace)


@verb
def undo(workspace: Workspace) -> Restored:
    """Take back the last restore: every byte and every mode."""

    def choose(journal: Journal) -> Restore:
        ledger = journal.ledger_of(workspace.worktree)
        if ledger is None or not ledger.undoable:
            raise NotFound("There is nothing to undo", [], ["`holdfast checkpoints` lists where one can go back to"])
        return reversed_way(ledger.undoable[-1], "undo", workspace)

    return go_back(workspace, choose, force=True)


@verb
def redo(workspace: Workspace) -> Restored:
    """Do again what was undone."""

    def choose(journal: Journal) -> Restore:
        ledger = journal.ledger_of(workspace.worktree)
        if ledger is None or not ledger.redoable:
            raise NotFound("There is nothing to redo", [], ["`holdfast undo` comes first"])
        return reversed_way(ledger.redoable[-1], "redo", workspace)

    return go_back(workspace, choose, force=True)


def _refuse_without_state(target: Checkpoint) -> None:
    if target.run is None or target.seq is None:
        raise Refused(
            "This checkpoint was made without a run, so it knows no state",
            [("checkpoint", target.id)],
            [f"`holdfast restore {target.id} --code`"],
        )
