"""What the Go Team's workflow looks for when it starts: its runs that can be gone on with."""

from __future__ import annotations

from datetime import datetime

from holdfast.core.model import Run, Status
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam.reconcile import team_runs
from holdfast.project.runs import select
from holdfast.project.sessions import is_silent, last_heard, live_sessions, other_live_sessions
from holdfast.project.workspace import Workspace
from holdfast.system import process


def find_resumable(workspace: Workspace) -> list[Run]:
    """The open runs of this worktree that no process works on: interrupted ones first, then the last worked on."""
    if not workspace.exists or workspace.is_off:
        return []
    with workspace.reading() as journal:
        runs = [run for run in team_runs(journal, workspace.worktree) if is_resumable(workspace, journal, run)]
    return sorted(_by_work(runs), key=lambda run: run.status is not Status.INTERRUPTED)


def list_resumable(workspace: Workspace) -> list[Run]:
    """The same, to be shown: from then on a number means a row of it."""
    return _shown(workspace, find_resumable(workspace))


def list_all(workspace: Workspace) -> tuple[list[Run], list[Run]]:
    """All sessions of this worktree, to be shown: those that can be resumed, and then the others."""
    found = find_resumable(workspace)
    with workspace.reading() as journal:
        known = {run.id for run in found}
        others = _by_work([run for run in team_runs(journal, workspace.worktree) if run.id not in known])
    _shown(workspace, [*found, *others])
    return found, others


def _by_work(runs: list[Run]) -> list[Run]:
    """The runs, the one that was worked on last first."""
    return sorted(runs, key=lambda run: (run.updated is not None, run.updated, run.created), reverse=True)


def _shown(workspace: Workspace, found: list[Run]) -> list[Run]:
    if found:
        select.remember(workspace, "run", [run.id for run in found])
    return found


def find_silent(workspace: Workspace, runs: list[Run]) -> dict[str, datetime]:
    """The runs that are potentially interrupted, and since when nothing was heard of each."""
    return {run.id: since for run in runs if (since := silent_since(workspace, run))}


def silent_since(workspace: Workspace, run: Run) -> datetime | None:
    """Since when nothing was heard of an active run that no process here is known to work on.

    None where that is less than `silent.after`. It may be interrupted, and may be not: its status is not changed.
    """
    if run.status is not Status.ACTIVE or run.updated is None:
        return None
    with workspace.reading() as journal:
        sessions = live_sessions(journal, run.id)
    if any(session.process and process.judge(session.process).alive for session in sessions):
        return None
    heard = max([run.updated, *(last_heard(workspace, session) for session in sessions)])
    waited = (workspace.clock.now() - heard).total_seconds()
    return heard if waited > workspace.settings.number("silent.after") else None


def is_resumable(workspace: Workspace, journal: Journal, run: Run) -> bool:
    """Whether a run is open and no living process works on it; one that is silent elsewhere does not count.

    The caller's own client may be on it, unless it is at work there: it waits for the choice how to go on.
    """
    is_active = run.status is Status.ACTIVE
    found = live_sessions(journal, run.id) if is_active else other_live_sessions(workspace, journal, run.id)
    return run.status.is_open and all(is_silent(workspace, session) for session in found)
