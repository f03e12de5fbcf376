"""The run that an observer command is about, and whether it is one of the Go Team's."""

from __future__ import annotations

from holdfast.core.chat_commands import Order
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Run
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam import NAME
from holdfast.layouts.goteam.presence import is_present
from holdfast.layouts.goteam.reconcile import team_runs
from holdfast.layouts.goteam.resumable import find_resumable
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

WORDS = ("sessions", "resume", "continue", "session-info", "new", "checkpoints", "cp-validate", "cp-export")
OF_ARGUMENT = ("resume", "session-info")  # whose argument names the run


def is_meant(workspace: Workspace) -> bool:
    """Whether commands in this worktree mean a run of the Go Team; where it is not clear which, whether it has one."""
    if not workspace.exists:
        return False
    with workspace.reading() as journal:
        return _is_meant(workspace, journal)


def _is_meant(workspace: Workspace, journal: Journal) -> bool:
    try:
        return select.get_run(workspace, journal, None, ended_too=True).layout == NAME
    except HoldfastError:
        return is_present(workspace) and bool(team_runs(journal, workspace.worktree))


def find_chat_run(workspace: Workspace, order: Order) -> Run | None:
    """The Go Team run that a command is about, if it is about one and means something else there."""
    if order.word not in WORDS or not workspace.exists:
        return None
    with workspace.reading() as journal:
        if order.word in ("sessions", "new"):  # of all of them: any one will do
            runs = team_runs(journal, workspace.worktree) if _is_meant(workspace, journal) else []
            return runs[-1] if runs else None
    run = find_run(workspace, order)
    return run if run is not None and run.layout == NAME else None


def find_run(workspace: Workspace, order: Order) -> Run | None:
    """The run that a command is about; for `*resume` alone, the first one that can be resumed."""
    with workspace.reading() as journal:
        try:
            run = select.get_typed(workspace, journal, order.argument if order.word in OF_ARGUMENT else "")
        except HoldfastError:
            run = None
    if order.word != "resume" or order.argument or (run is not None and run.layout != NAME):
        return run
    rows = find_resumable(workspace)
    return rows[0] if rows else run
