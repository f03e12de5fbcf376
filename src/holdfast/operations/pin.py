"""Pin a decision, note or task, so that every brief carries it; or let go of it."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing
from holdfast.model import Draft
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Pinned(Struct):
    run: str
    entry: str
    pinned: bool
    changed: bool


@verb
def pin(workspace: Workspace, entry: str, *, off: bool = False, run: str | None = None) -> Pinned:
    """Pin an entry. A bare number means a decision."""
    with workspace.writing() as journal:
        found = choosing.get_run(workspace, journal, run)
        id = choosing.get_entry(found.pinnable, entry, "d", "entry")
        changed = found.pinnable[id].pinned == off
        if changed:
            journal.append(found.id, Draft("entry.unpinned" if off else "entry.pinned", {"entry": id}))
        return Pinned(found.id, id, not off, changed)
