"""End a session of one's own, in good order."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.model import Session
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Left(Struct):
    session: Session
    changed: bool


@verb
def leave(workspace: Workspace, session: str, *, reason: str | None = None) -> Left:
    """End a session. Its run stays as it is."""
    with workspace.writing(for_session=False) as journal:
        found = select.get_session(workspace, journal, session)
        return Left(found, journal.end_session(found.id, reason))
