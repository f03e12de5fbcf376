"""Save the open run: what changed since the last checkpoint becomes one; some layouts close a session instead."""

from __future__ import annotations

from holdfast.layouts.registry import find_layout, layouts
from holdfast.layouts.save import Saved, save_run
from holdfast.layouts.session_reports import SessionSaved
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


@verb
def save(workspace: Workspace, *, run: str | None = None) -> Saved | SessionSaved:
    """Keep the worktree and the run's state as a checkpoint; in a FABER run, close the session that is open."""
    if run is None and not workspace.exists:
        for layout in layouts():
            if active := layout.find_active(workspace):
                return layout.save_session(workspace, active, "manual")
    with workspace.reading() as journal:
        meant = select.get_run(workspace, journal, run)
    layout = find_layout(meant.layout)
    name = layout.own_id(workspace, meant)
    return save_run(workspace, run) if name is None else layout.save_session(workspace, name, "manual")
