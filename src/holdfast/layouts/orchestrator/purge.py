"""Purge a run from the orchestrator's files and from the records of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.core.model import Run
from holdfast.layouts.json_file import read_json
from holdfast.layouts.memory import each_locked, is_shown, recall, remove_shown
from holdfast.layouts.orchestrator import HISTORY, NAME, RECORD, SESSION
from holdfast.layouts.orchestrator.files import Written
from holdfast.project.workspace import Workspace
from holdfast.system import files


def own_files(workspace: Workspace, run: Run) -> Iterator[str]:
    """The session file, or the run's file in the history."""
    if run.layout == NAME and run.worktree == workspace.worktree:
        for path in filter(None, (SESSION, run.archived)):
            if is_shown(workspace, path, lambda place: _shows(workspace, place, run.id)):
                yield path


def purge(workspace: Workspace, run: str, shown: Iterable[str]) -> None:
    """Remove the run's files here, and the records of every worktree that are about this run."""
    ours = [path for path in shown if path == SESSION or Path(path).parent == Path(HISTORY)]
    remove_shown(workspace, ours, lambda place: _shows(workspace, place, run))
    for record in each_locked(workspace, RECORD):
        if recall(record, Written).run == run:
            files.remove(record)


def _shows(workspace: Workspace, place: Path, run: str) -> bool:
    return bool(read_json(place, root=workspace.root).value.get("session_id") == run)
