"""Decisions: what was decided and why, and taking one back."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.model import Draft
from holdfast.core.text import checked
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Decided(Struct):
    run: str
    entry: str
    seq: int


class Revoked(Struct):
    run: str
    entry: str
    changed: bool


@verb
def decide(workspace: Workspace, text: str, *, because: str | None = None, run: str | None = None) -> Decided:
    """Record a decision and its reason."""
    checked(text, "decision")
    if because is not None:
        checked(because, "reason")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = fold.entry_id(found, "decision.made")
        body = {"entry": entry, "decision": text, "because": because}
        (event,) = journal.append(found.id, Draft("decision.made", body))
        return Decided(found.id, entry, event.seq)


@verb
def revoke(workspace: Workspace, decision: str, *, because: str | None = None, run: str | None = None) -> Revoked:
    """Take a decision back. It stays in the history, and no brief names it any more."""
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = select.get_entry([known.id for known in found.decisions], decision, "d", "decision")
        standing = entry in {known.id for known in found.standing_decisions}
        if standing:
            journal.append(found.id, Draft("decision.revoked", {"entry": entry, "because": because}))
        return Revoked(found.id, entry, standing)
