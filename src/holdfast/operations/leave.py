"""End a session of one's own, in good order."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.model import Session
from holdfast.operations.parameters import argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Left(Struct):
    session: Session
    changed: bool


@verb(group=Group.GO, example="holdfast leave ses-7pq34x9k2m", about="end a session")
def leave(
    workspace: Workspace,
    session: Annotated[str, argument(variable="HOLDFAST_SESSION")],
    *,
    reason: Annotated[str | None, option(metavar="TEXT", help="Why.")] = None,
) -> Left:
    """End a session; its run stays as it is. Without a name: the session of this shell."""
    with workspace.writing(for_session=False) as journal:
        found = select.get_session(workspace, journal, session)
        return Left(found, journal.end_session(found.id, reason))
