"""Keep the store small: thin out old checkpoints, and give their space back."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct

from holdfast.checkpointing import shadow_of
from holdfast.journal import Journal
from holdfast.model import Checkpoint, Draft
from holdfast.retention import Rules, plan_retention
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Tidied(Struct):
    dropped: list[str]
    kept: int
    merged: int
    dry_run: bool


@verb
def tidy(workspace: Workspace, *, days: int | None = None, most: int | None = None, dry_run: bool = False) -> Tidied:
    """Drop checkpoints that are too old, too many, or too close together. Named and pinned ones stay."""
    rules = Rules(oldest=timedelta(days=days) if days is not None else None, most=most)
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            found = list(journal.list_checkpoints(workspace.worktree))
            needed = _needed(journal, workspace, found)
        going = plan_retention(found, needed, workspace.clock.now(), rules)
        result = Tidied([checkpoint.id for checkpoint in going], len(found) - len(going), 0, dry_run)
        if dry_run:
            return result
        with workspace.writing() as journal:
            ledger = journal.ledger(workspace.worktree)
            journal.append(ledger.id, *(Draft("checkpoint.dropped", {"id": checkpoint.id}) for checkpoint in going))
        vault = shadow.vault
        shelved = vault.numbers()
        vault.drop(shelved - {checkpoint.number for checkpoint in found if checkpoint not in going})
        result.merged = vault.prune()
        return result


def _needed(journal: Journal, workspace: Workspace, found: list[Checkpoint]) -> set[str]:
    """Checkpoints that an undo, an unfinished restore or an open run still needs."""
    ledger = journal.ledger_of(workspace.worktree)
    needed: set[str] = set()
    if ledger is not None:
        for restore in (*ledger.undoable, *ledger.redoable, *([ledger.unfinished] if ledger.unfinished else [])):
            needed |= {restore.before, restore.target}
    last_of_run: dict[str, str] = {}
    for checkpoint in found:
        if checkpoint.run:
            last_of_run.setdefault(checkpoint.run, checkpoint.id)
    return needed | {id for run, id in last_of_run.items() if (state := journal.find_run(run)) and state.status.is_open}
