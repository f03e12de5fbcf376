"""What the Go Team's workflow looks for when it starts: its runs that can be gone on with."""

from __future__ import annotations

from holdfast.attending import attended
from holdfast.catchup import catch_up
from holdfast.journal import Journal
from holdfast.model import Run, Status
from holdfast.teaming import team_runs
from holdfast.workspace import Workspace


def find_resumable(workspace: Workspace) -> list[Run]:
    """The open runs of this worktree on which nobody is at work: interrupted ones first, then the newest."""
    if not workspace.exists or workspace.is_off:
        return []
    catch_up(workspace)
    with workspace.reading() as journal:
        runs = [run for run in reversed(team_runs(journal, workspace.worktree)) if is_resumable(journal, run)]
    return sorted(runs, key=lambda run: run.status is not Status.INTERRUPTED)


def is_resumable(journal: Journal, run: Run) -> bool:
    """Whether a run is open and nobody who may be alive has it."""
    return run.status.is_open and not attended(journal, run.id)
