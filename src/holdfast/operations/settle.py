"""Pause, complete, fail, abort, abandon: the lifecycle, one verb a word."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing, history
from holdfast.journal import Journal
from holdfast.lifecycle import Effect, Step, transition
from holdfast.model import Run
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Settled(Struct):
    run: Run
    changed: bool


@verb
def pause(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Put a run to rest; it stays open."""
    return _settle(workspace, run, Step.PAUSE, reason)


@verb
def complete(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Say that a run has reached its goal."""
    return _settle(workspace, run, Step.COMPLETE, reason)


@verb
def fail(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Say that a run cannot reach its goal."""
    return _settle(workspace, run, Step.FAIL, reason)


@verb
def abort(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Stop a run on purpose."""
    return _settle(workspace, run, Step.ABORT, reason)


@verb
def abandon(workspace: Workspace, run: str | None = None, *, reason: str | None = None) -> Settled:
    """Give a run up without judging it."""
    return _settle(workspace, run, Step.ABANDON, reason)


def _settle(workspace: Workspace, name: str | None, step: Step, reason: str | None) -> Settled:
    with workspace.writing() as journal:
        run = choosing.get_run(workspace, journal, name, ended_too=True)
        effects = transition(run.status, step).effects
        if Effect.CHANGED in effects:
            journal.append(run.id, history.status_draft(step, reason))
        if Effect.END_SESSIONS in effects:
            _end_sessions(journal, run, step)
        return Settled(journal.get_run(run.id), Effect.CHANGED in effects)


def _end_sessions(journal: Journal, run: Run, step: Step) -> None:
    for session in journal.list_sessions(run.id, only_open=True):
        journal.end_session(session.id, f"the run was settled: {step}")
