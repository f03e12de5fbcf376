"""A session that goes over to another run: its conversation stays the same, and what it does from then on is there."""

from __future__ import annotations

import contextlib

from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Move
from holdfast.core.model import Body, Draft, Run, Session, Status
from holdfast.journal.journal import Journal
from holdfast.project.runs.transitions import settle
from holdfast.project.sessions.sessions import attended, find_conversation
from holdfast.project.workspace import Workspace


def go_over(workspace: Workspace, journal: Journal, run: Run, left: str | None = None) -> None:
    """Wake a run, and let our own session, if we have one, work on it.

    The run that the session leaves is paused if no other process works on it. Without a session that is `left`, the
    run that this worktree pointed at before.
    """
    settle(journal, run, Move.RESUME)
    own = journal.find_session(workspace.session or "")
    if own is not None and own.is_open:
        _move(workspace, journal, own, run)
    else:
        _rest(journal, journal.find_run(left or ""), run, f"{run.id} is worked on instead")


def move_conversation(workspace: Workspace, journal: Journal, run: Run) -> None:
    """Let the conversation in which this command runs, if any, work on a run. The run that it leaves comes to rest."""
    if own := find_conversation(workspace, journal):
        _move(workspace, journal, own, run)


def _move(workspace: Workspace, journal: Journal, own: Session, run: Run) -> None:
    if own.run == run.id:
        return
    opened = ids.make("ses")
    body = {"how": own.how or "ended", "reason": own.reason or f"went over to {run.id}", "at": own.ended}
    draft = Draft(fold.ENDED, {**body, "followed_by": opened}, session=own.id, agent=own.agent)
    journal.append(own.run, draft)
    _rest(journal, journal.find_run(own.run), run, f"its session went over to {run.id}")
    _open(journal, own, run, opened)
    if workspace.session == own.id:
        workspace.session = opened


def _rest(journal: Journal, left: Run | None, run: Run, why: str) -> None:
    """Pause a run that is left for another one, if no process works on it."""
    if left and left.id != run.id and _comes_to_rest(journal, left, run) and not attended(journal, left.id):
        with contextlib.suppress(Refused):  # what has not begun cannot be paused in every layout
            settle(journal, left, Move.PAUSE, why)


def _comes_to_rest(journal: Journal, left: Run, run: Run) -> bool:
    """Whether a run that is left pauses: one that another of its kind follows keeps its status."""
    rules = journal.rules_of(left)
    is_followed = rules.is_single and rules is journal.rules_of(run)
    return left.status in (Status.CREATED, Status.ACTIVE) and not left.owned and not is_followed


def _open(journal: Journal, own: Session, run: Run, id: str) -> None:
    """Open a session of the same conversation and process on another run."""
    body: Body = {
        "agent_session": own.agent_session,
        "transcript": own.transcript,
        "process": own.process,
        "environment": own.environment,
        "epoch": run.epoch,
    }
    journal.append(run.id, Draft(fold.OPENED, body, session=id, agent=own.agent))
