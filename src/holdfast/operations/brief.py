"""What the next session would be told, exactly."""

from __future__ import annotations

from holdfast.core.brief import Brief
from holdfast.ingest.preview import previewed
from holdfast.operations.verb import verb
from holdfast.project import settings
from holdfast.project.briefs import make_brief
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


@previewed
@verb
def brief(workspace: Workspace, *, run: str | None = None, budget: int | None = None) -> Brief:
    """The brief of a run, within a budget of characters."""
    if budget is not None:
        settings.check("brief.budget", budget, "the budget")
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run)
        last = journal.find_session(found.last_session or "")
    return make_brief(workspace, found, last, budget or workspace.settings.whole("brief.budget"), runs=True)
