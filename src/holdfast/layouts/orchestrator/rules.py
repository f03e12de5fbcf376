"""The rules for runs of the orchestrator, which its document draws."""

from __future__ import annotations

from holdfast.core.lifecycle import Move, Rules
from holdfast.core.model import Status
from holdfast.layouts.orchestrator import SIGN

SESSION = SIGN
HISTORY = ".claude/orchestrator-history"
RULES = Rules(
    whose="A session of the orchestrator",
    barred={
        (Status.CREATED, Move.COMPLETE): "it has not begun: `holdfast resume` begins it",
        (Status.PAUSED, Move.COMPLETE): "it is paused: `holdfast resume` goes on with it first",
        (Status.CREATED, Move.PAUSE): "it has not begun: `holdfast resume` begins it",
    },
    is_single=True,
    notes_failure=True,
    files=(SESSION, HISTORY),
)
