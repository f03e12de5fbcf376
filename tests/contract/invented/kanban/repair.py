"""The board on disk: whether it is there, damaged, and how it is rebuilt from the journal."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.model import Run
from holdfast.core.text import path_text
from holdfast.layouts.json_file import Unreadable, read_json
from holdfast.layouts.results import JOURNAL, Damage, FilesRepaired
from holdfast.project.workspace import Workspace
from holdfast.system import files

from . import BOARD
from .reconcile import reconcile


def list_files(workspace: Workspace) -> list[str]:
    return [BOARD] if (workspace.root / BOARD).exists() else []


def damages(workspace: Workspace) -> Iterator[Damage]:
    try:
        read_json(workspace.root / BOARD, root=workspace.root)
    except Unreadable as error:
        if not error.is_missing:
            yield Damage(BOARD, error.why, error.remedy("`holdfast repair` makes it anew"))


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    if known is None or not list(damages(workspace)):
        return FilesRepaired(known.id if known else name, BOARD, changed=False)
    aside = files.move_aside(workspace.root / BOARD, "damaged", workspace.root)
    reconcile(workspace)
    return FilesRepaired(known.id, BOARD, True, JOURNAL, path_text(aside.relative_to(workspace.root)))
