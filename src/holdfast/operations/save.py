"""Save the open run: what that means is its layout's to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import choosing
from holdfast.adopting import LAYOUT
from holdfast.finding import faber_id
from holdfast.parting import save_session
from holdfast.reporting import SessionSaved
from holdfast.statefile import own_client
from holdfast.verbs import verb
from holdfast.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.saving import Saved


@verb
def save(workspace: Workspace, *, run: str | None = None) -> Saved | SessionSaved:
    """Keep the worktree and the run's state as a checkpoint; in a FABER run, close the session that is open."""
    with workspace.reading() as journal:
        meant = choosing.get_run(workspace, journal, run)
    if meant.layout != LAYOUT:
        from holdfast.saving import save_run  # what checkpoints need is much to load, and a FABER run needs none of it

        return save_run(workspace, run)
    return save_session(workspace, own_client(workspace), run=faber_id(workspace, meant))
