"""Write something down on a run."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.model import Draft
from holdfast.core.text import checked
from holdfast.operations.parameters import RunName, argument
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Noted(Struct):
    run: str
    entry: str
    seq: int


@verb(group=Group.TELL, example='holdfast note "The staging server needs a VPN"', prints="the entry's id", common=True)
def note(workspace: Workspace, text: Annotated[str, argument()], *, run: RunName = None) -> Noted:
    """Write something down."""
    checked(text, "note")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = fold.entry_id(found, "note.added")
        (event,) = journal.append(found.id, Draft("note.added", {"entry": entry, "text": text}))
        return Noted(found.id, entry, event.seq)
