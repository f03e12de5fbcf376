"""Runs of the Go Team: the one that a command is about, those that can be resumed, and the ways to resume one."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import structs

from holdfast.core import ids
from holdfast.core.chat_commands import Order
from holdfast.core.errors import HoldfastError
from holdfast.core.fold import team
from holdfast.core.model import Kept, Run, Status
from holdfast.core.recovery_options import CHECKPOINT, LIVE, Option, options
from holdfast.core.text import one_line
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam import NAME
from holdfast.layouts.goteam.files import team_runs
from holdfast.layouts.registry import find_layout, is_present
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import select
from holdfast.project.sessions import is_silent, last_heard, live_sessions, other_live_sessions
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.worktree.capture import Shadow

WORDS = ("sessions", "resume", "continue", "session-info", "new", "checkpoints", "cp-validate", "cp-export")
OF_ARGUMENT = ("resume", "session-info")  # their argument names the run
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def make_id(workspace: Workspace, journal: Journal) -> str:
    return next(id for _ in range(100) if journal.find_run(id := f"session-{ids.make('x')[2:8]}") is None)


def default_steps(workspace: Workspace) -> tuple[str, ...]:
    return tuple(workspace.settings.words("go_team.steps"))


def find_resumable(workspace: Workspace) -> list[Run]:
    """List the open runs of this worktree that no process works on: interrupted ones first, then the latest."""
    if not workspace.exists or workspace.is_off:
        return []
    with workspace.reading() as journal:
        runs = [run for run in team_runs(journal, workspace.worktree) if is_resumable(workspace, journal, run)]
    return sorted(_by_work(runs), key=lambda run: run.status is not Status.INTERRUPTED)


def list_resumable(workspace: Workspace) -> list[Run]:
    """List them for display: from then on a number means a row of the list."""
    return _shown(workspace, find_resumable(workspace))


def list_all(workspace: Workspace) -> tuple[list[Run], list[Run]]:
    """List all sessions of this worktree for display: the resumable ones, and the others."""
    found = find_resumable(workspace)
    with workspace.reading() as journal:
        known = {run.id for run in found}
        others = _by_work([run for run in team_runs(journal, workspace.worktree) if run.id not in known])
    _shown(workspace, [*found, *others])
    return found, others


def _by_work(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (run.updated is not None, run.updated, run.created), reverse=True)


def _shown(workspace: Workspace, found: list[Run]) -> list[Run]:
    if found:
        select.remember(workspace, "run", [run.id for run in found])
    return found


def find_silent(workspace: Workspace, runs: list[Run]) -> dict[str, datetime]:
    """The last sign of life of each run that may be interrupted."""
    return {run.id: since for run in runs if (since := silent_since(workspace, run))}


def silent_since(workspace: Workspace, run: Run) -> datetime | None:
    """The last sign of life, if older than `silent.after`, of an active run that may or may not be interrupted."""
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
    """Return whether a run is open and no living process works on it; a silent one elsewhere does not count."""
    is_active = run.status is Status.ACTIVE  # else the caller's own client may wait for the choice of a way to resume
    found = live_sessions(journal, run.id) if is_active else other_live_sessions(workspace, journal, run.id)
    return run.status.is_open and all(is_silent(workspace, session) for session in found)


def is_meant(workspace: Workspace) -> bool:
    """Return whether the current run is the Go Team's; without a current run, whether the worktree has one of them."""
    if not workspace.exists:
        return False
    with workspace.reading() as journal:
        try:
            return select.get_run(workspace, journal, None, ended_too=True).layout == NAME
        except HoldfastError:
            return is_present(workspace, find_layout(NAME)) and bool(team_runs(journal, workspace.worktree))


def find_chat_run(workspace: Workspace, order: Order) -> Run | None:
    if order.word not in WORDS or not workspace.exists:
        return None
    if order.word in ("sessions", "new"):  # about all runs: any one will do
        if not is_meant(workspace):
            return None
        with workspace.reading() as journal:
            return next(reversed(team_runs(journal, workspace.worktree)), None)
    run = find_run(workspace, order)
    return run if run is not None and run.layout == NAME else None


def find_run(workspace: Workspace, order: Order) -> Run | None:
    """The run that a command is about; for `*resume` without an argument, the first resumable one."""
    with workspace.reading() as journal:
        try:
            run = select.get_typed(workspace, journal, order.argument if order.word in OF_ARGUMENT else "")
        except HoldfastError:
            run = None
    if order.word != "resume" or order.argument or (run is not None and run.layout != NAME):
        return run
    rows = find_resumable(workspace)
    return rows[0] if rows else run


def list_ways(workspace: Workspace, run: Run) -> list[Option]:
    """The ways to resume a run. A checkpoint whose code is not in the repository is not recommended."""
    found, point = options(run), team.last_kept(run)
    if point is None or has_code(workspace, point):
        return found
    return [_without_code(way, point.commit) for way in found]


def has_code(workspace: Workspace, kept: Kept) -> bool:
    """Return whether a point can be restored: it is a checkpoint of ours, or its commit is in the repository."""
    if kept.checkpoint is not None or not COMMIT.fullmatch(kept.commit or ""):
        return kept.checkpoint is not None
    try:
        with shadow_of(workspace) as shadow:
            return tree_of(shadow, kept.commit or "") is not None
    except HoldfastError:  # the shadow is locked, or git failed: the restore will report that
        return True


def tree_of(shadow: Shadow, commit: str) -> str | None:
    data = shadow.reader.read(commit)
    first = data.partition(b"\n")[0] if data else b""
    return first[5:].decode("ascii", "replace") if first.startswith(b"tree ") else None


def _without_code(way: Option, commit: str | None) -> Option:
    if way.type == CHECKPOINT:
        loss = f"its code is not in this repository (commit {one_line(commit or 'none', 64)})"
        return structs.replace(way, data_loss=loss, actions=None, recommended=False)
    return structs.replace(way, recommended=way.type == LIVE)
