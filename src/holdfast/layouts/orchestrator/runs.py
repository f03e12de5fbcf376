"""Runs of the orchestrator: the current one of a worktree, and the start of the next one."""

from __future__ import annotations

from holdfast.core import ids
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Run
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.orchestrator import HISTORY, NAME, SESSION
from holdfast.layouts.orchestrator.files import expect, find_incompatible
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

MOST = 50  # runs of a worktree that may be in the file


def prepare_start(workspace: Workspace) -> bool:
    """Expect the file from now on; false if it is of an incompatible version, so that no run is archived."""
    expect(workspace)
    return find_incompatible(workspace) is None


def make_id(workspace: Workspace, journal: Journal | None = None) -> str:
    """An id in the form of the document: the day, and six characters."""
    return f"{workspace.clock.now():%Y-%m-%d}-{ids.make('x')[2:8]}"


def find_current(journal: Journal, worktree: str) -> Run | None:
    """The run in the session file: the unarchived one that was started or resumed last."""
    pointed = journal.find_run(journal.view.pointer(worktree) or "")
    if pointed and pointed.layout == NAME and not pointed.archived and pointed.worktree == worktree:
        return pointed
    return next((run for run in list_runs(journal, worktree) if not run.archived), None)


def is_meant(workspace: Workspace) -> bool:
    """Whether the current run is the orchestrator's; without a current run, whether its files are here."""
    try:
        if workspace.exists:
            with workspace.reading() as journal:
                return select.get_run(workspace, journal, None, ended_too=True).layout == NAME
    except HoldfastError:
        pass
    return any((workspace.root / name).exists() for name in (SESSION, HISTORY))


def list_runs(journal: Journal, worktree: str) -> list[Run]:
    query = RunQuery(worktree=worktree, layouts=frozenset({NAME}), limit=MOST)
    found, _ = journal.list_runs(query)
    return sorted(found, key=lambda run: (run.created is not None, run.created, run.id), reverse=True)
