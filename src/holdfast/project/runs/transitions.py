"""How a run comes to rest or to its end: the move of its lifecycle, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Effect, Move, transition
from holdfast.core.model import Draft, Run
from holdfast.journal.journal import Journal


def settle(journal: Journal, run: Run, move: Move, reason: str | None = None, more: Iterable[Draft] = ()) -> bool:
    """Take a move of a run's lifecycle; an ended run has no open sessions. False where it was so already.

    `more` is appended with the move, while the sessions are still open.
    """
    effects = transition(run.status, move, journal.rules_of(run)).effects
    if Effect.CHANGED in effects:
        journal.append(run.id, fold.status_draft(move, reason), *more)
    if Effect.END_SESSIONS in effects:
        for session in journal.list_sessions(run.id, only_open=True):
            journal.end_session(session.id, f"the run was settled: {move}")
    return Effect.CHANGED in effects
