"""Lifecycle of runs and sessions: pause, complete, fail, abort, abandon, reopen, switch; join and leave."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Struct, structs

from holdfast.core.fold import run as fold
from holdfast.core.fold.external import refuse_owned
from holdfast.core.lifecycle import ENDINGS, Move, transition
from holdfast.core.model import Draft, Reason, Run, Session, Status
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import Kind, RunName, Why, argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.sessions import (
    fence_off_others,
    is_own,
    move_conversation,
    next_epoch,
    open_process_session,
    settle,
)
from holdfast.project.workspace import Workspace
from holdfast.system import process


class Settled(Struct):
    run: Run
    changed: bool


class Switched(Struct):
    run: Run
    moved_from: str | None


class Joined(Struct):
    run: Run
    session: Session
    taken_from: list[Session]
    others: list[Session]


class Left(Struct):
    session: Session
    changed: bool


@verb(group=Group.GO, example='holdfast pause --reason "waiting for the review"', common=True)
def pause(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Pause a run; it stays open."""
    return _settle(workspace, run, Move.PAUSE, reason)


@verb(group=Group.GO, example='holdfast complete --reason "merged"', about="end a run at its goal", common=True)
def complete(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """End a run that has reached its goal."""
    return _settle(workspace, run, Move.COMPLETE, reason)


@verb(group=Group.GO, example='holdfast fail --reason "the API is gone"')
def fail(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """End a run that cannot reach its goal."""
    return _settle(workspace, run, Move.FAIL, reason)


@verb(group=Group.GO, example="holdfast abort --run run-4x9k2m7pq3")
def abort(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Stop a run deliberately."""
    return _settle(workspace, run, Move.ABORT, reason)


@verb(group=Group.GO, example="holdfast abandon --run run-4x9k2m7pq3", about="give a run up")
def abandon(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Give a run up, with no verdict on it."""
    return _settle(workspace, run, Move.ABANDON, reason)


@verb(group=Group.GO, example="holdfast reopen --run run-4x9k2m7pq3", about="reopen a run that has ended")
def reopen(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Reopen a run that has ended, with the status it had before. Its sessions stay ended."""
    with select.writing(workspace, run, ended_too=True) as (journal, found):
        if found.owned and not found.status.is_open and found.status is not Status.ABANDONED:
            refuse_owned(found, "it cannot be reopened here")
        changed = transition(found.status, Move.REOPEN) is not found.status
        if changed:
            _reopen(workspace, journal, found, reason)
        return Settled(journal.get_run(found.id), changed)


@verb(
    group=Group.GO,
    example="holdfast switch run-4x9k2m7pq3",
    about="select the current run of this worktree",
    common=True,
)
def switch(workspace: Workspace, run: Annotated[str, argument(kind=Kind.RUN)]) -> Switched:
    """Select the current run of this worktree, which commands use by default."""
    worktree = workspace.worktree
    with workspace.writing() as journal:
        found = select.find_by_name(workspace, journal, run)
        transition(found.status, Move.RESUME)  # refuses a run that has ended
        before, directory = found.worktree, found.directory
        if before != worktree:
            body = {"worktree": worktree, "directory": path_text(workspace.root)}
            journal.append(found.id, Draft("run.moved", body))
            if journal.view.pointer(before) == found.id:
                journal.point(before, None)
        select.choose(journal, worktree, found)
        move_conversation(workspace, journal, found)
        return Switched(journal.get_run(found.id), directory if before != worktree else None)


@verb(group=Group.GO, example="holdfast join run-4x9k2m7pq3 --pid $$", about="open a session on a run, or take it over")
def join(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    *,
    pid: Annotated[int | None, option(least=1, metavar="PID", help="The process whose end ends the session.")] = None,
    agent: Annotated[str | None, option(metavar="NAME", help="The agent at work on it.")] = None,
    take_over: Annotated[bool, option(help="Fence off its open sessions: they cannot write any more.")] = False,
) -> Joined:
    """Open a session on a run, beside its other sessions, or take the run over from them. Prints its id."""
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


@verb(group=Group.GO, example="holdfast leave ses-7pq34x9k2m", about="end a session")
def leave(
    workspace: Workspace,
    session: Annotated[str, argument(variable="HOLDFAST_SESSION")],
    *,
    reason: Why = None,
) -> Left:
    """End a session; its run stays as it is. Without a name: the session of this shell."""
    with workspace.writing(for_session=False) as journal:
        found = select.get_session(workspace, journal, session)
        return Left(found, journal.end_session(found.id, reason))


def _reopen(workspace: Workspace, journal: Journal, run: Run, reason: str | None) -> None:
    before = _before_end(journal, run)
    draft = fold.status_draft(Move.REOPEN, reason or before.status_reason, before.evidence, before.cause)
    journal.append(run.id, structs.replace(draft, body={**draft.body, "status": before.status}))
    if run.archived:
        journal.append(run.id, Draft("run.archived", {"path": None}))
    if run.worktree != workspace.worktree:
        return
    current = select.current_run(journal, workspace.worktree)
    if current is None or current.id == run.id:
        journal.point(workspace.worktree, run.id)
    else:
        workspace.warn(f"Another run is the current one here: `holdfast switch {run.id}` selects this one")


def _before_end(journal: Journal, run: Run) -> Run:
    """Return the run as it was before it last ended."""
    ends = [event.seq for event in journal.events(run.id) if fold.MOVES.get(event.kind) in ENDINGS]
    return journal.run_at(run.id, ends[-1] - 1) if ends else structs.replace(run, status_reason=None, evidence=None)


def _settle(workspace: Workspace, name: str | None, move: Move, reason: str | None) -> Settled:
    if move is Move.PAUSE and workspace.exists:
        _save_worktree(workspace, name)
    with select.writing(workspace, name, ended_too=True) as (journal, run):
        if run.owned and move is not Move.ABANDON:
            refuse_owned(run, f"this command cannot {move} it")
        # appended after the end: an error makes a created run active, and `reopen` would restore that status
        met = move is Move.FAIL and journal.rules_of(run).notes_failure
        errors = [Draft("error.met", {"text": reason or "the session failed"})] if met else []
        changed = settle(journal, run, move, reason, errors)
        return Settled(journal.get_run(run.id), changed)


def _save_worktree(workspace: Workspace, name: str | None) -> None:
    """Let the layout save a paused run's work; the Go Team keeps a checkpoint of it."""
    run = select.read_run(workspace, name, ended_too=True)
    if run.status.is_open and run.worktree == workspace.worktree:
        find_layout(run.layout).keep_run(workspace, run, Reason.PAUSED)
