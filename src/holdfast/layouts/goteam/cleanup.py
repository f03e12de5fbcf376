"""Removing the files of Go Team runs that are over: by age and by number, and never those of an open one."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime, timedelta
from pathlib import Path

from holdfast.core.model import Run, Status
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam.files import Shelf
from holdfast.layouts.goteam.reconcile import is_directory, note_cleaned, reconcile, root_of, team_runs
from holdfast.layouts.goteam.schema import MANIFEST, RECOVERY, ROLLBACKS, STATE
from holdfast.project.workspace import Workspace

OVER = (Status.COMPLETED, Status.ABANDONED, Status.ABORTED)
FILES = (MANIFEST, STATE, RECOVERY, ROLLBACKS)


def clean_up(workspace: Workspace, days: int, keep: int, *, dry_run: bool) -> tuple[list[Run], int]:
    """Remove the files of older runs, and of all but the newest few; one with a pinned checkpoint stays as it is."""
    now = workspace.clock.now()
    with workspace.reading() as journal:
        over = [run for run in team_runs(journal, workspace.worktree) if run.status in OVER]
        gone = [run for run in _too_many(over, now, days, keep) if not _is_needed(workspace, journal, run)]
    if not dry_run:
        for run in gone:
            _remove(workspace, root_of(workspace) / run.id, run)
        with workspace.writing(for_session=False) as journal:
            for run in gone:
                note_cleaned(journal, run)
        reconcile(workspace)
    return gone, len(over) - len(gone)


def _too_many(over: list[Run], now: datetime, days: int, keep: int) -> list[Run]:
    newest = sorted(over, key=lambda run: run.status_since or now, reverse=True)
    old = now - timedelta(days=days)
    return [run for place, run in enumerate(newest) if place >= keep or (run.status_since or now) < old]


def _is_needed(workspace: Workspace, journal: Journal, run: Run) -> bool:
    """Whether it is the run that commands here mean, somebody has pinned a checkpoint, or only its files know one."""
    if journal.view.pointer(workspace.worktree) == run.id:
        return True
    if any(kept.checkpoint is None for kept in run.standing.kept) and not _is_exported(root_of(workspace) / run.id):
        workspace.warn(f"{run.id} stays: only its files know its checkpoints; `*cp-export` puts them into an archive")
        return True
    return any(made.pinned for made in journal.list_checkpoints(run=run.id))


def _is_exported(directory: Path) -> bool:
    return any((directory / "exports").glob("*.tar.gz"))


def _remove(workspace: Workspace, directory: Path, run: Run) -> None:
    """Our files of a run; what others put beside them, and what was exported, stays."""
    if not is_directory(directory):
        return
    shelf = Shelf(workspace)
    for name in (*FILES, *(f"{kept.id}.json" for kept in run.standing.kept)):
        if os.sep not in name and not (directory / name).is_symlink():
            shelf.discard(directory / name)
    with contextlib.suppress(OSError):
        os.rmdir(directory)
