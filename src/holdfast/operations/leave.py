"""End a session of one's own, in good order."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing, history
from holdfast.model import Draft, Session
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Left(Struct):
    session: Session


@verb
def leave(workspace: Workspace, session: str, *, reason: str | None = None) -> Left:
    """End a session. Its run stays as it is."""
    with workspace.writing(for_session=False) as journal:
        found = choosing.get_session(workspace, journal, session)
        if found.is_open:
            body = {"how": "ended", "reason": reason}
            journal.append(found.run, Draft(history.ENDED, body, session=found.id, agent=found.agent))
        return Left(found)
