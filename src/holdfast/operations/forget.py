"""Make a run forget one event: it keeps its place in the journal, and nothing that is told or searched knows it."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.fold import run as fold
from holdfast.core.model import Draft
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Forgotten(Struct):
    run: str
    seq: int
    changed: bool


@verb
def forget(workspace: Workspace, event: str, *, run: str | None = None, dry_run: bool = False) -> Forgotten:
    """Forget an event. The state is folded as if it had said nothing. A dry run only finds out which one is meant."""
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        seq = select.get_seq(found, event)
        (target,) = journal.events(found.id, after=seq - 1, until=seq)
        if target.kind.startswith(("run.", "session.", "event.")):
            raise Refused(
                "This event holds the run together and cannot be forgotten",
                [("event", f"{seq}, {target.kind}")],
                ["`holdfast rename` changes what a run is called", "`holdfast delete` removes the whole run"],
            )
        changed = seq not in found.forgotten
        if changed and not dry_run:
            journal.append(found.id, Draft(fold.FORGOTTEN, {"seq": seq}))
        return Forgotten(found.id, seq, changed)
