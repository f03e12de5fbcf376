"""Pause, complete, fail, abort, abandon: the lifecycle, one verb a word."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing
from holdfast.goteam.teamwork import LAYOUT
from holdfast.lifecycle import Move
from holdfast.model import Draft, Run
from holdfast.owning import refuse_owned
from holdfast.reason import Reason
from holdfast.settling import settle
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Settled(Struct):
    run: Run
    changed: bool


@verb
def pause(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Put a run to rest; it stays open."""
    return _settle(workspace, run, Move.PAUSE, reason)


@verb
def complete(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Say that a run has reached its goal."""
    return _settle(workspace, run, Move.COMPLETE, reason)


@verb
def fail(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Say that a run cannot reach its goal."""
    return _settle(workspace, run, Move.FAIL, reason)


@verb
def abort(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Stop a run on purpose."""
    return _settle(workspace, run, Move.ABORT, reason)


@verb
def abandon(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Give a run up without judging it."""
    return _settle(workspace, run, Move.ABANDON, reason)


def _settle(workspace: Workspace, name: str | None, move: Move, reason: str | None) -> Settled:
    if move is Move.PAUSE and workspace.exists:
        _keep(workspace, name)
    with workspace.writing() as journal:
        run = choosing.get_run(workspace, journal, name, ended_too=True)
        if run.owned and move is not Move.ABANDON:
            refuse_owned(run, f"it cannot be told to {move} here")
        if move is Move.FAIL and run.layout == "orchestrator" and run.status.is_open:
            journal.append(run.id, Draft("error.met", {"text": reason or "the session failed"}))
        changed = settle(journal, run, move, reason)
        return Settled(journal.get_run(run.id), changed)


def _keep(workspace: Workspace, name: str | None) -> None:
    """What a team's run leaves at rest is kept first."""
    with workspace.reading() as journal:
        run = choosing.get_run(workspace, journal, name, ended_too=True)
    if run.layout == LAYOUT and run.status.is_open and run.worktree == workspace.worktree:
        from holdfast.goteam.stepping import keep_run  # checkpoints are much to load, and other runs need none here

        keep_run(workspace, run, Reason.PAUSED)
