"""Decisions: what was decided and why, and taking one back."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.model import Draft
from holdfast.core.text import checked
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, verb
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


@verb(
    group=Group.TELL,
    example='holdfast decide "Use exponential backoff" --because "the server sheds load"',
    prints="the entry's id",
    common=True,
)
def decide(
    workspace: Workspace,
    text: Annotated[str, argument()],
    *,
    because: Annotated[str | None, option(metavar="WHY", help="The reason; the next session will want it.")] = None,
    run: RunName = None,
) -> Decided:
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


@verb(group=Group.TELL, example='holdfast revoke 2 --because "the library was dropped"')
def revoke(
    workspace: Workspace,
    decision: Annotated[str, argument(metavar="N")],
    *,
    because: Annotated[str | None, option(metavar="WHY", help="The reason.")] = None,
    run: RunName = None,
) -> Revoked:
    """Take a decision back. It stays in the history; no brief names it any more."""
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = select.get_entry([known.id for known in found.decisions], decision, "d", "decision")
        standing = entry in {known.id for known in found.standing_decisions}
        if standing:
            journal.append(found.id, Draft("decision.revoked", {"entry": entry, "because": because}))
        return Revoked(found.id, entry, standing)
