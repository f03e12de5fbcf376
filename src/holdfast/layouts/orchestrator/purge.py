"""The orchestrator's files of a run."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.model import Run
from holdfast.layouts.orchestrator import NAME
from holdfast.layouts.orchestrator.follow import SESSION
from holdfast.project.workspace import Workspace


def own_files(workspace: Workspace, run: Run) -> Iterator[str]:
    """The places of this worktree in which the run may stand: the session file, and its file in the history."""
    if run.layout == NAME and run.worktree == workspace.worktree:
        yield from filter(None, (SESSION, run.archived))
