"""Save the open run: what that means is its layout's to say."""

from __future__ import annotations

from holdfast import choosing
from holdfast.adopting import LAYOUT
from holdfast.faber.finding import faber_id
from holdfast.faber.parting import save_session
from holdfast.faber.reporting import SessionSaved
from holdfast.faber.statefile import own_client
from holdfast.layouts import faber
from holdfast.saving import Saved, save_run
from holdfast.verbs import verb
from holdfast.workspace import Workspace


@verb
def save(workspace: Workspace, *, run: str | None = None) -> Saved | SessionSaved:
    """Keep the worktree and the run's state as a checkpoint; in a FABER run, close the session that is open."""
    active = faber.find_active(workspace.root).run if run is None and not workspace.exists else None
    if active is not None:
        return save_session(workspace, own_client(workspace), run=active)
    with workspace.reading() as journal:
        meant = choosing.get_run(workspace, journal, run)
    if meant.layout != LAYOUT:
        return save_run(workspace, run)
    return save_session(workspace, own_client(workspace), run=faber_id(workspace, meant))
