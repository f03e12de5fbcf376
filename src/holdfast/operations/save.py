"""Save the open run: what that means is its layout's to say."""

from __future__ import annotations

from holdfast.layouts.faber import NAME as LAYOUT, schema
from holdfast.layouts.faber.files import own_client
from holdfast.layouts.faber.find_run import faber_id
from holdfast.layouts.faber.screens import SessionSaved
from holdfast.layouts.faber.session_save import save_session
from holdfast.operations.verb import verb
from holdfast.project.checkpoints.save import Saved, save_run
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


@verb
def save(workspace: Workspace, *, run: str | None = None) -> Saved | SessionSaved:
    """Keep the worktree and the run's state as a checkpoint; in a FABER run, close the session that is open."""
    active = schema.find_active(workspace.root).run if run is None and not workspace.exists else None
    if active is not None:
        return save_session(workspace, own_client(workspace), run=active)
    with workspace.reading() as journal:
        meant = select.get_run(workspace, journal, run)
    if meant.layout != LAYOUT:
        return save_run(workspace, run)
    return save_session(workspace, own_client(workspace), run=faber_id(workspace, meant))
