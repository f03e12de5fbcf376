"""Pause, complete, fail, abort, abandon, reopen: the lifecycle, one verb a word."""

from __future__ import annotations

from msgspec import Struct, structs

from holdfast.core.fold import run as fold
from holdfast.core.fold.external import refuse_owned
from holdfast.core.lifecycle import ENDINGS, Move, transition
from holdfast.core.model import Draft, Reason, Run, Status
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import RunName, Why
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.sessions import settle
from holdfast.project.workspace import Workspace


class Settled(Struct):
    run: Run
    changed: bool


@verb(
    group=Group.GO,
    example='holdfast pause --reason "waiting for the review"',
    about="put a run to rest; it stays open",
    common=True,
)
def pause(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Put a run to rest; it stays open."""
    return _settle(workspace, run, Move.PAUSE, reason)


@verb(group=Group.GO, example='holdfast complete --reason "merged"', about="a run has reached its goal", common=True)
def complete(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Say that a run has reached its goal."""
    return _settle(workspace, run, Move.COMPLETE, reason)


@verb(group=Group.GO, example='holdfast fail --reason "the API is gone"', about="a run cannot reach its goal")
def fail(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Say that a run cannot reach its goal."""
    return _settle(workspace, run, Move.FAIL, reason)


@verb(group=Group.GO, example="holdfast abort --run run-4x9k2m7pq3")
def abort(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Stop a run on purpose."""
    return _settle(workspace, run, Move.ABORT, reason)


@verb(group=Group.GO, example="holdfast abandon --run run-4x9k2m7pq3", about="give a run up")
def abandon(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Give a run up without judging it."""
    return _settle(workspace, run, Move.ABANDON, reason)


@verb(group=Group.GO, example="holdfast reopen --run run-4x9k2m7pq3", about="take the end of a run back")
def reopen(workspace: Workspace, run: RunName = None, *, reason: Why = None) -> Settled:
    """Take the end of a run back: it has the status again that it had before. Its sessions stay ended."""
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        if found.owned and not found.status.is_open and found.status is not Status.ABANDONED:
            refuse_owned(found, "it cannot be reopened here")
        changed = transition(found.status, Move.REOPEN) is not found.status
        if changed:
            _reopen(workspace, journal, found, reason)
        return Settled(journal.get_run(found.id), changed)


def _reopen(workspace: Workspace, journal: Journal, run: Run, reason: str | None) -> None:
    before = _before_its_end(journal, run)
    draft = fold.status_draft(Move.REOPEN, reason or before.status_reason, before.evidence)
    journal.append(run.id, structs.replace(draft, body={**draft.body, "status": before.status}))
    if run.archived:
        journal.append(run.id, Draft("run.archived", {"path": None}))
    if run.worktree != workspace.worktree:
        return
    current = select.current_run(journal, workspace.worktree)
    if current is None or current.id == run.id:
        journal.point(workspace.worktree, run.id)
    else:
        workspace.warn(f"Another run is the current one here: `holdfast switch {run.id}` chooses this one")


def _before_its_end(journal: Journal, run: Run) -> Run:
    """The run as it was before its last end."""
    ends = [event.seq for event in journal.events(run.id) if fold.MOVES.get(event.kind) in ENDINGS]
    return journal.run_at(run.id, ends[-1] - 1) if ends else structs.replace(run, status_reason=None, evidence=None)


def _settle(workspace: Workspace, name: str | None, move: Move, reason: str | None) -> Settled:
    if move is Move.PAUSE and workspace.exists:
        _keep(workspace, name)
    with workspace.writing() as journal:
        run = select.get_run(workspace, journal, name, ended_too=True)
        if run.owned and move is not Move.ABANDON:
            refuse_owned(run, f"it cannot be told to {move} here")
        # after the end: an error that is met makes a created run active, and `reopen` would give that status back
        met = move is Move.FAIL and journal.rules_of(run).notes_failure
        errors = [Draft("error.met", {"text": reason or "the session failed"})] if met else []
        changed = settle(journal, run, move, reason, errors)
        return Settled(journal.get_run(run.id), changed)


def _keep(workspace: Workspace, name: str | None) -> None:
    """What a team's run leaves at rest is kept first."""
    with workspace.reading() as journal:
        run = select.get_run(workspace, journal, name, ended_too=True)
    if run.status.is_open and run.worktree == workspace.worktree:
        find_layout(run.layout).keep_run(workspace, run, Reason.PAUSED)
