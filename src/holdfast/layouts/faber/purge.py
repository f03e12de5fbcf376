"""FABER's own files of a run, which a purge leaves, and our old backups beside them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from holdfast.core.model import Run
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.project.workspace import Workspace

KEPT = timedelta(days=7)


def foreign_files(workspace: Workspace, run: Run) -> list[str]:
    return [str(Path(run.directory) / run.owned.path)] if run.owned else []


def list_old_copies(workspace: Workspace) -> list[Path]:
    found = []
    with workspace.reading() as journal:
        for name, path in schema.list_states(workspace.root):
            run = journal.find_run(journal_id(name))
            ended = run.status_since if run is not None and run.owned and not run.status.is_open else None
            backup = path.with_name(path.name + ".backup")
            if ended and workspace.clock.now() - ended > KEPT and backup.is_file() and not backup.is_symlink():
                found.append(backup)
    return found
