"""Purging a card: the board goes while it shows the card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.core.model import Run
from holdfast.layouts.json_file import read_json
from holdfast.layouts.memory import remove_shown
from holdfast.project.workspace import Workspace
from holdfast.system import files

from . import BOARD, NAME


def own_files(workspace: Workspace, run: Run) -> list[str]:
    return [BOARD] if run.layout == NAME else []


def purge(workspace: Workspace, run: str, shown: Iterable[str]) -> None:
    remove_shown(workspace, set(shown) & {BOARD}, lambda place: _card(place) == run)
    for memory in (workspace.here / "worktrees").glob(f"*/{BOARD}"):
        if _card(memory) == run:
            files.remove(memory)


def _card(place: Path) -> object:
    return read_json(place).value.get("card")
