"""The journals of all projects of a user on this machine, brought up to date and read."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

from holdfast.core.errors import Busy, HoldfastError
from holdfast.ingest import catch_up
from holdfast.journal.journal import Journal
from holdfast.project import known_projects
from holdfast.project.known_projects import Claim
from holdfast.project.workspace import Workspace

PATIENCE = 1.0  # seconds to ingest the inbox of another project
T = TypeVar("T")


def visit_all(
    workspace: Workspace, look: Callable[[Claim, Workspace, Journal], T]
) -> tuple[list[T], list[tuple[Claim, HoldfastError]]]:
    """Look into the journal of each project. Those that cannot be read are returned with the reason."""
    read: list[T] = []
    failed: list[tuple[Claim, HoldfastError]] = []
    known = known_projects.known(workspace.user_directory("state") / "stores")
    for number, claim in enumerate(known):
        workspace.progress("reading projects", number, len(known))
        try:
            read.append(_visit(workspace, claim, look))
        except HoldfastError as error:
            failed.append((claim, error))
    return read, failed


def _visit(workspace: Workspace, claim: Claim, look: Callable[[Claim, Workspace, Journal], T]) -> T:
    known_projects.check_there(claim)
    other = Workspace(
        claim.project, claim.place, clock=workspace.clock, environ=workspace.environ, rules_of=workspace.rules_of
    )
    with other:
        other.check_ours()
        if not other.is_off:
            with contextlib.suppress(Busy):  # another process ingests at the moment
                catch_up.ingest_inbox(other, time.monotonic() + PATIENCE)
                catch_up.mark_dead_sessions(other)
        with other.reading() as journal:
            return look(claim, other, journal)
