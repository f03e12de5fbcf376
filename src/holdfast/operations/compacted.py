"""A compaction of the agent's context, told by hand where no hook tells it."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.fold.usage import COMPACTED
from holdfast.core.model import Draft
from holdfast.core.text import checked
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Compressed(Struct):
    run: str
    seq: int
    compactions: int  # of this run so far


@verb
def compressed(workspace: Workspace, *, summary: str | None = None, run: str | None = None) -> Compressed:
    """Record that the context was compacted, with what was kept of it; how full it is now is not known."""
    body = {"trigger": "told", "summary": checked(summary, "summary") if summary is not None else ""}
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        (event,) = journal.append(found.id, Draft(COMPACTED, body))
        return Compressed(found.id, event.seq, journal.get_run(found.id).compactions)
