"""Open a session on a run that is there: together with those who work on it, or in their place."""

from __future__ import annotations

import os

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Run, Session
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.sessions import attend, dismiss_others, is_own, move_conversation, next_epoch
from holdfast.project.workspace import Workspace
from holdfast.system import process


class Joined(Struct):
    run: Run
    session: Session
    taken_from: list[Session]
    others: list[Session]


@verb
def join(
    workspace: Workspace,
    run: str | None = None,
    *,
    pid: int | None = None,
    agent: str | None = None,
    take_over: bool = False,
) -> Joined:
    """Open a session on a run. With `pid` it lives and dies with that process; without, it is never found dead.

    With `take_over`, the sessions of others that are open on it are fenced: what they still write is refused.
    """
    with workspace.writing(for_session=False) as journal:
        found = select.get_run(workspace, journal, run)
        transition(found.status, Move.RESUME)
        others = [known for known in journal.list_sessions(found.id, only_open=True) if not is_own(workspace, known)]
        who = f"taken over by process {pid or os.getpid()} on {process.here().host}"
        taken = dismiss_others(workspace, journal, found, who) if take_over else []
        epoch = next_epoch(workspace, journal, found) if take_over else found.epoch
        journal.append(found.id, fold.status_draft(Move.RESUME))
        session = attend(workspace, journal, found, pid, agent, epoch=epoch)
        select.choose(journal, workspace.worktree, found)
        if pid is None:
            move_conversation(workspace, journal, found)
        return Joined(journal.get_run(found.id), session, taken, [] if take_over else others)
