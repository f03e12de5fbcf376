"""Choose the run that commands in this worktree mean."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Draft, Run
from holdfast.core.text import path_text
from holdfast.operations.parameters import Kind, argument
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.sessions import move_conversation
from holdfast.project.workspace import Workspace


class Switched(Struct):
    run: Run
    moved_from: str | None


@verb(
    group=Group.GO,
    example="holdfast switch run-4x9k2m7pq3",
    about="choose the run that commands here mean",
    common=True,
)
def switch(workspace: Workspace, run: Annotated[str, argument(kind=Kind.RUN)]) -> Switched:
    """Choose the run that commands in this worktree mean."""
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
