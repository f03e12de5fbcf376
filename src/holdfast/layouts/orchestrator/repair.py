"""Rebuilding the orchestrator's session file from the journal."""

from __future__ import annotations

from holdfast.core.model import Run
from holdfast.core.text import path_text
from holdfast.layouts.json_file import Unreadable
from holdfast.layouts.orchestrator.files import put_aside, read_session
from holdfast.layouts.orchestrator.reconcile import reconcile
from holdfast.layouts.orchestrator.rules import SESSION
from holdfast.layouts.orchestrator.start import find_current
from holdfast.layouts.protocol import JOURNAL, FilesRepaired
from holdfast.project.workspace import Workspace


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    """The file shows one run; if it cannot be read, it goes aside, and the journal writes it anew."""
    with workspace.reading() as journal:
        current = find_current(journal, workspace.worktree)
    if known is None or current is None or current.id != known.id:
        return FilesRepaired(known.id if known else name, None, changed=False)
    try:
        read_session(workspace)
        return FilesRepaired(known.id, SESSION, changed=False)
    except Unreadable:
        aside = put_aside(workspace)
    reconcile(workspace)
    return FilesRepaired(known.id, SESSION, True, JOURNAL, path_text(aside.relative_to(workspace.root)))
