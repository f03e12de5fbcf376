"""End a session of one's own, in good order."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing
from holdfast.model import Session
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Left(Struct):
    session: Session
    changed: bool


@verb
def leave(workspace: Workspace, session: str, *, reason: str | None = None) -> Left:
    """End a session. Its run stays as it is."""
    with workspace.writing(for_session=False) as journal:
        found = choosing.get_session(workspace, journal, session)
        return Left(found, journal.end_session(found.id, reason))
