"""The rules for Go Team runs."""

from __future__ import annotations

from holdfast.core.lifecycle import Move, Rules
from holdfast.core.model import Status

RULES = Rules(
    still=frozenset({(Status.INTERRUPTED, Move.ATTEND)}),  # a new client must leave the choice how to recover
    refusals={
        (Status.COMPLETED, Move.RESUME): "Session already completed",
        (Status.FAILED, Move.RESUME): "Session failed and cannot be resumed",
        (Status.ABANDONED, Move.RESUME): "Session abandoned and cannot be resumed",
        (Status.ABORTED, Move.RESUME): "Session abandoned and cannot be resumed",
    },
    is_recovered=True,
    has_numbered_steps=True,
    returns=True,
    agents={
        "init": "orchestrator", "codebase-analysis": "orchestrator", "requirements": "pm-agent",
        "architecture": "architect-agent", "implementation": "go-coder-agent", "testing": "test-agent",
        "security": "security-agent", "review": "reviewer-agent", "optimization": "optimizer-agent",
        "release": "devops-agent", "documentation": "doc-agent", "synthesis": "orchestrator",
    },
)  # fmt: skip
