"""Choose the run that commands in this worktree mean."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Draft, Run
from holdfast.core.text import path_text
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.sessions import move_conversation
from holdfast.project.workspace import Workspace


class Switched(Struct):
    run: Run
    moved_from: str | None


@verb
def switch(workspace: Workspace, run: str) -> Switched:
    """Point this worktree at an open run. One that was started in another worktree moves here.

    Inside a client, its conversation works on that run from then on.
    """
    worktree = workspace.worktree
    with workspace.writing() as journal:
        found = select.find_by_name(workspace, journal, run)
        transition(found.status, Move.RESUME)  # refuses what has ended
        before, directory = found.worktree, found.directory
        if before != worktree:
            body = {"worktree": worktree, "directory": path_text(workspace.root)}
            journal.append(found.id, Draft("run.moved", body))
            if journal.view.pointer(before) == found.id:
                journal.point(before, None)
        select.choose(journal, worktree, found)
        move_conversation(workspace, journal, found)
        return Switched(journal.get_run(found.id), directory if before != worktree else None)
