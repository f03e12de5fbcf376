"""The board and the journal say the same: an external edit of the column is taken in, then the card is written."""

from __future__ import annotations

import json
from typing import Any

from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Move
from holdfast.core.model import Run, Status
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.json_file import Unreadable, read_json
from holdfast.layouts.memory import own_directory, place_of
from holdfast.project.workspace import Workspace
from holdfast.system import files

from . import BOARD, NAME
from .screens import COLUMNS, find_word

MOVES = {Status.ACTIVE: Move.RESUME, Status.PAUSED: Move.PAUSE, Status.COMPLETED: Move.COMPLETE}


def reconcile(workspace: Workspace, *, saved: str | None = None) -> None:
    path = workspace.root / BOARD
    try:
        found = read_json(path, root=workspace.root).value if path.exists() else {}
    except Unreadable as error:
        workspace.warn(f"{BOARD} cannot be read: {error.why}; `holdfast repair` makes it anew")
        return
    if workspace.is_preview:
        return
    with workspace.writing(for_session=False) as journal:
        run = find_current(journal, workspace.worktree)
        if run and found.get("card") == run.id and found != _written(workspace):
            if move := MOVES.get(COLUMNS.get(found["column"], run.status)):
                journal.append(run.id, fold.status_draft(move, "the board says so"))
            run = journal.get_run(run.id)
    if run is not None:
        card = {**found, "card": run.id, "goal": run.goal, "column": find_word(workspace, run)}
        for place in (path, own_directory(workspace) / BOARD):
            files.write(place, json.dumps(card, indent=2).encode() + b"\n")


def find_current(journal: Journal, worktree: str) -> Run | None:
    found, _ = journal.list_runs(RunQuery(worktree=worktree, layouts=frozenset({NAME}), limit=1))
    return found[0] if found else None


def _written(workspace: Workspace) -> Any:
    data = files.read(place_of(workspace) / BOARD)
    return json.loads(data) if data else None
