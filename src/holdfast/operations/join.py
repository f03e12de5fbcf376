"""Open a session on a run that is there: together with those who work on it, or in their place."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Run, Session
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.sessions import fence_off_others, is_own, move_conversation, next_epoch, open_process_session
from holdfast.project.workspace import Workspace
from holdfast.system import process


class Joined(Struct):
    run: Run
    session: Session
    taken_from: list[Session]
    others: list[Session]


@verb(group=Group.GO, example="holdfast join run-4x9k2m7pq3 --pid $$", about="open a session on a run, or take it over")
def join(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    *,
    pid: Annotated[
        int | None, option(least=1, metavar="PID", help="The process that the session lives and dies with.")
    ] = None,
    agent: Annotated[str | None, option(metavar="NAME", help="The agent that works on it.")] = None,
    take_over: Annotated[bool, option(help="Fence the sessions that are on it: they cannot write any more.")] = False,
) -> Joined:
    """Open a session on a run, together with those who work on it or in their place. Prints its id."""
    with workspace.writing(for_session=False) as journal:
        found = select.get_run(workspace, journal, run)
        transition(found.status, Move.RESUME)
        others = [known for known in journal.list_sessions(found.id, only_open=True) if not is_own(workspace, known)]
        who = f"taken over by process {pid or os.getpid()} on {process.here().host}"
        taken = fence_off_others(workspace, journal, found, who) if take_over else []
        epoch = next_epoch(workspace, journal, found) if take_over else found.epoch
        journal.append(found.id, fold.status_draft(Move.RESUME))
        session = open_process_session(workspace, journal, found, pid, agent, epoch=epoch)
        select.choose(journal, workspace.worktree, found)
        if pid is None:
            move_conversation(workspace, journal, found)
        return Joined(journal.get_run(found.id), session, taken, [] if take_over else others)
