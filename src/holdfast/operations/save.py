"""Save the open run: what changed since the last checkpoint becomes one; some layouts close a session instead."""

from __future__ import annotations

from holdfast.layouts.registry import find_layout, layouts
from holdfast.layouts.results import SessionSaved
from holdfast.layouts.save import Saved, save_run
from holdfast.operations.parameters import RunName
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


@verb(group=Group.GO, example="holdfast save", about="save the open run: code and state")
def save(workspace: Workspace, *, run: RunName = None) -> Saved | SessionSaved:
    """Save the open run: code and state, if anything changed. Prints the id of the checkpoint that holds it.

    In a FABER run this is `session-save`.
    """
    if run is None and not workspace.exists:
        for layout in layouts():
            if active := layout.find_active(workspace):
                return layout.save_session(workspace, active, "manual")
    with workspace.reading() as journal:
        meant = select.get_run(workspace, journal, run)
    layout = find_layout(meant.layout)
    name = layout.own_id(workspace, meant)
    return save_run(workspace, run) if name is None else layout.save_session(workspace, name, "manual")
