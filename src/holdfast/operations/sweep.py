"""Bring the journal up to date, and say what that found."""

from __future__ import annotations

from msgspec import Struct

from holdfast.ingest import catch_up
from holdfast.operations.verb import Group, verb
from holdfast.project import inbox
from holdfast.project.workspace import Workspace


class Swept(Struct):
    taken_in: int
    set_aside: int
    interrupted: list[str]
    troubles: list[str]


@verb(group=Group.CARE, example="holdfast sweep", about="take in what hooks kept, and notice who died", syncs=False)
def sweep(workspace: Workspace) -> Swept:
    """Take in what hooks have kept, and mark as interrupted what died."""
    found = catch_up.catch_up(workspace)
    troubles = inbox.troubles(workspace.here)
    if troubles:
        workspace.reset_troubles()
    return Swept(found.taken_in, found.set_aside, found.interrupted, troubles)
