"""What the Go Team's workflow looks for when it starts: its runs that can be gone on with."""

from __future__ import annotations

from holdfast import choosing
from holdfast.attending import attended_by_others, is_silent
from holdfast.catchup import catch_up
from holdfast.goteam.teaming import team_runs
from holdfast.journal import Journal
from holdfast.model import Run, Status
from holdfast.workspace import Workspace


def find_resumable(workspace: Workspace) -> list[Run]:
    """The open runs of this worktree on which nobody is at work: interrupted ones first, then the newest."""
    if not workspace.exists or workspace.is_off:
        return []
    catch_up(workspace)
    with workspace.reading() as journal:
        runs = [
            run for run in reversed(team_runs(journal, workspace.worktree)) if is_resumable(workspace, journal, run)
        ]
    return sorted(runs, key=lambda run: run.status is not Status.INTERRUPTED)


def list_resumable(workspace: Workspace) -> list[Run]:
    """The same, to be shown: from then on a number means a row of it."""
    found = find_resumable(workspace)
    if found:
        choosing.remember(workspace, "run", [run.id for run in found])
    return found


def is_resumable(workspace: Workspace, journal: Journal, run: Run) -> bool:
    """Whether a run is open and no other living process has it; one that is silent elsewhere does not count."""
    others = attended_by_others(workspace, journal, run.id)
    return run.status.is_open and all(is_silent(workspace, session) for session in others)
