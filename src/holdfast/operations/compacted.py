"""A compaction of the agent's context, told by hand where no hook tells it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.fold.activity import COMPACTED
from holdfast.core.model import Draft
from holdfast.core.text import checked
from holdfast.operations.parameters import RunName, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Compressed(Struct):
    run: str
    seq: int
    compactions: int  # of this run so far


@verb(
    group=Group.ORCHESTRATOR,
    example='holdfast compressed --summary "Kept the plan and the open tasks"',
    prints="the event's number",
)
def compressed(
    workspace: Workspace,
    *,
    summary: Annotated[str | None, option(metavar="TEXT", help="What was kept of it.")] = None,
    run: RunName = None,
) -> Compressed:
    """Record that the agent's context was compacted."""
    body = {"trigger": "told", "summary": checked(summary, "summary") if summary is not None else ""}
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        (event,) = journal.append(found.id, Draft(COMPACTED, body))
        return Compressed(found.id, event.seq, journal.get_run(found.id).compactions)
