"""The run that an observer command is about, and whether it is one of the Go Team's."""

from __future__ import annotations

from holdfast.core.chat_commands import Order
from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.ingest.catch_up import has_team
from holdfast.journal.journal import Journal, is_ledger
from holdfast.layouts.goteam import NAME
from holdfast.layouts.goteam.reconcile import team_runs
from holdfast.layouts.goteam.resumable import find_resumable
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

WORDS = ("sessions", "resume", "continue", "session-info", "new", "checkpoints", "cp-validate", "cp-export")
OF_ARGUMENT = ("resume", "session-info")  # whose argument names the run
ENDINGS = 15  # runs that are listed where several have the same end of an id


def get_meant(workspace: Workspace, journal: Journal, name: str) -> Run:
    """A run by its id, the row of the list last shown, or an end of its id that only one has."""
    if not name:
        return select.get_run(workspace, journal, None)
    is_row = name.isdecimal() and len(name) < 6 and 0 < int(name) <= len(select.listed(workspace, "run"))
    try:
        if journal.find_run(name) or is_row or not name.isdecimal():
            return select.find_by_name(workspace, journal, name)
        ending = [id for id in journal.view.find_ids("run", name, ENDINGS) if id.endswith(name) and not is_ledger(id)]
        if len(ending) > 1:
            raise select.several(workspace, f'Several runs end with "{name}"', [journal.get_run(id) for id in ending])
        return journal.get_run(ending[0]) if ending else select.find_by_name(workspace, journal, name)
    except NotFound as error:
        if not is_team_here(workspace, journal):
            raise
        hints = [*error.hints[:-1], "`*sessions` lists them"]
        raise NotFound(f"Session not found: {one_line(name, 60)}", error.facts, hints) from error


def is_team_here(workspace: Workspace, journal: Journal) -> bool:
    """Whether commands in this worktree mean a run of the Go Team; where it is not clear which, whether it has one."""
    try:
        return select.get_run(workspace, journal, None, ended_too=True).layout == NAME
    except HoldfastError:
        return has_team(workspace) and bool(team_runs(journal, workspace.worktree))


def find_team_run(workspace: Workspace, order: Order) -> Run | None:
    """The Go Team run that a command is about, if it is about one and means something else there."""
    if order.word not in WORDS or not workspace.exists:
        return None
    with workspace.reading() as journal:
        if order.word in ("sessions", "new"):  # of all of them: any one will do
            runs = team_runs(journal, workspace.worktree) if is_team_here(workspace, journal) else []
            return runs[-1] if runs else None
    run = find_run(workspace, order)
    return run if run is not None and run.layout == NAME else None


def find_run(workspace: Workspace, order: Order) -> Run | None:
    """The run that a command is about; for `*resume` alone, the first one that can be resumed."""
    with workspace.reading() as journal:
        try:
            run = get_meant(workspace, journal, order.argument if order.word in OF_ARGUMENT else "")
        except HoldfastError:
            run = None
    if order.word != "resume" or order.argument or (run is not None and run.layout != NAME):
        return run
    rows = find_resumable(workspace)
    return rows[0] if rows else run
