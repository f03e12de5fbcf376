"""Rebuilding the board from the journal."""

from __future__ import annotations

from holdfast.core.model import Run
from holdfast.core.text import path_text
from holdfast.layouts.protocol import JOURNAL, FilesRepaired
from holdfast.project.workspace import Workspace
from holdfast.system import files

from .health import damages
from .reconcile import reconcile
from .rules import BOARD


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    if known is None or not list(damages(workspace)):
        return FilesRepaired(known.id if known else name, BOARD, changed=False)
    aside = files.move_aside(workspace.root / BOARD, "damaged", workspace.root)
    reconcile(workspace)
    return FilesRepaired(known.id, BOARD, True, JOURNAL, path_text(aside.relative_to(workspace.root)))
