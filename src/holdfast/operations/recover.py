"""A damaged file that shows the current run: what is left of it, and the ways out that its system's document offers."""

from __future__ import annotations

from holdfast.ingest.catch_up import establish
from holdfast.layouts.registry import layouts
from holdfast.layouts.results import CHOICES as CHOICES, HISTORY as HISTORY, Recovery as Recovery
from holdfast.operations.verb import verb
from holdfast.project.workspace import Workspace


@verb(None)
def recover(workspace: Workspace, choose: str | None = None) -> Recovery:
    """Say what can be done about a damaged session file, or do it."""
    found = [recovery for layout in layouts() if (recovery := layout.recover(workspace, choose, establish))]
    return next((recovery for recovery in found if recovery.why is not None), found[0])
