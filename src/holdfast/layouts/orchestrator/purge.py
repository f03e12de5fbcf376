"""Purging a run from the orchestrator's files, and from what is remembered of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.core.model import Run
from holdfast.layouts.json_file import read_face
from holdfast.layouts.memory import is_shown, recall, remove_shown
from holdfast.layouts.orchestrator import NAME, RECORD
from holdfast.layouts.orchestrator.files import Written
from holdfast.layouts.orchestrator.rules import HISTORY, SESSION
from holdfast.project.workspace import Workspace
from holdfast.system import files


def own_files(workspace: Workspace, run: Run) -> Iterator[str]:
    """The session file, or the run's file in the history."""
    if run.layout == NAME and run.worktree == workspace.worktree:
        places = filter(None, (SESSION, run.archived))
        yield from (
            path for path in places if is_shown(workspace, path, lambda place: _shows(workspace, place, run.id))
        )


def purge(workspace: Workspace, run: str, shown: Iterable[str]) -> None:
    """Remove the run's files here, and what every worktree remembers of the session file, if that is of this run."""
    ours = [path for path in shown if path == SESSION or Path(path).parent == Path(HISTORY)]
    remove_shown(workspace, ours, lambda place: _shows(workspace, place, run))
    for memory in (workspace.here / "worktrees").glob(f"*/{RECORD}"):
        with files.lock(memory.with_name("session.lock"), workspace.settings.number("store.deadline")):
            if recall(memory, Written).run == run:
                files.remove(memory)


def _shows(workspace: Workspace, place: Path, run: str) -> bool:
    return bool(read_face(place, root=workspace.root).value.get("session_id") == run)
