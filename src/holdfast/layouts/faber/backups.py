"""The copies that a load or a save leaves beside FABER's state files: gone some time after their run has ended."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from holdfast.layouts.faber import schema
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.project.workspace import Workspace

KEPT = timedelta(days=7)


def old_backups(workspace: Workspace) -> list[Path]:
    """Our backups of runs of this worktree that ended long enough ago."""
    found = []
    with workspace.reading() as journal:
        for name, path in schema.list_states(workspace.root):
            run = journal.find_run(journal_id(name))
            ended = run.status_since if run is not None and run.owned and not run.status.is_open else None
            backup = path.with_name(path.name + ".backup")
            if ended and workspace.clock.now() - ended > KEPT and backup.is_file() and not backup.is_symlink():
                found.append(backup)
    return found
