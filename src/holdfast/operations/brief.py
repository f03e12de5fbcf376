"""What the next session would be told, exactly."""

from __future__ import annotations

from holdfast import choosing, config
from holdfast.briefing import make_brief
from holdfast.previewing import previewed
from holdfast.priming import Brief
from holdfast.verbs import verb
from holdfast.workspace import Workspace


@previewed
@verb
def brief(workspace: Workspace, *, run: str | None = None, budget: int | None = None) -> Brief:
    """The brief of a run, within a budget of characters."""
    if budget is not None:
        config.check("brief.budget", budget, "the budget")
    with workspace.reading() as journal:
        found = choosing.get_run(workspace, journal, run)
        last = journal.find_session(found.last_session or "")
    return make_brief(workspace, found, last, budget or workspace.settings.whole("brief.budget"))
