"""Write something down on a run."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing, history
from holdfast.model import Draft
from holdfast.verbs import verb
from holdfast.wording import checked
from holdfast.workspace import Workspace


class Noted(Struct):
    run: str
    entry: str
    seq: int


@verb
def note(workspace: Workspace, text: str, *, run: str | None = None) -> Noted:
    """Add a note to a run."""
    checked(text, "note")
    with workspace.writing() as journal:
        found = choosing.get_run(workspace, journal, run)
        entry = history.entry_id(found, "note.added")
        (event,) = journal.append(found.id, Draft("note.added", {"entry": entry, "text": text}))
        return Noted(found.id, entry, event.seq)
