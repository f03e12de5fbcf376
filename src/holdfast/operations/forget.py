"""Make a run forget one event: it keeps its place in the journal, and nothing that is told or searched knows it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.fold import run as fold
from holdfast.core.model import Draft
from holdfast.core.question import Choose, confirmation
from holdfast.operations.parameters import YES, RunName, argument
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Forgotten(Struct):
    run: str
    seq: int
    changed: bool


def _ask_whether(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if given.get("yes"):
        return None
    meant = forget(workspace, given["event"], run=given.get("run"), dry_run=True)
    prompt = f"Forget event {meant.seq} of {meant.run}?"
    return confirmation(prompt, f"holdfast forget {meant.seq} --run {meant.run}")


@verb(
    group=Group.TELL,
    example="holdfast forget 17 --yes",
    about="make a run forget one event",
    asks=_ask_whether,
    options=(YES,),
)
def forget(
    workspace: Workspace, event: Annotated[str, argument()], *, run: RunName = None, dry_run: bool = False
) -> Forgotten:
    """Make a run forget one event: nothing that is shown, told or searched knows it any more. Its place stays."""
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
