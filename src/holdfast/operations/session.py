"""A session's two ends, by the names that other systems gave them: load what it needs, save what it did.

For a run of our own, loading is the brief and saving is `save`. What a run of another layout means by them belongs to
that layout.
"""

from __future__ import annotations

from holdfast.operations.brief import brief
from holdfast.operations.save import Saved, save
from holdfast.priming import Brief
from holdfast.verbs import verb
from holdfast.workspace import Workspace


@verb
def session_load(workspace: Workspace, *, run: str | None = None, budget: int | None = None) -> Brief:
    """What a session needs to go on with a run."""
    return brief(workspace, run=run, budget=budget)


@verb
def session_save(workspace: Workspace, *, run: str | None = None) -> Saved:
    """Keep what a session did."""
    return save(workspace, run=run)
