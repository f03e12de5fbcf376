"""The brief as the next session would get it."""

from __future__ import annotations

from typing import Annotated

from holdfast.core.brief import Brief
from holdfast.operations.parameters import RunName, option
from holdfast.operations.verb import Group, verb
from holdfast.project import settings
from holdfast.project.briefs import make_brief
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


@verb(
    group=Group.SEE,
    example="holdfast brief --budget 4000",
    about="the brief that the next session would get",
    common=True,
    previews=True,
)
def brief(
    workspace: Workspace,
    *,
    run: RunName = None,
    budget: Annotated[int | None, option(least=500, most=1_000_000, metavar="N", help="At most N characters.")] = None,
) -> Brief:
    """Print the brief exactly as the next session would get it."""
    if budget is not None:
        settings.check("brief.budget", budget, "the budget")
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run)
        last = journal.find_session(found.last_session or "")
    return make_brief(workspace, found, last, budget or workspace.settings.whole("brief.budget"), runs=True)
