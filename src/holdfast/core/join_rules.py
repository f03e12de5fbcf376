"""Which run a new conversation joins, and when it wakes: two tables, decided purely and printed by calling them.

A conversation that is known, or whose environment names a run or session, is not asked about here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import OPEN, Run, Status


class Claim(StrEnum):
    """How a worktree means a run."""

    CHOSEN = "chosen by `start`, `switch`, `resume`, `join` or `run`"
    CURRENT = "begun or taken in last here, without a command"
    ONLY = "the only open run"
    SEVERAL = "several open runs, none of them current"
    NONE = "no open run"


class Rule(Struct, frozen=True):
    """A row of the table; None stands for either."""

    claim: Claim
    living: bool | None
    recent: bool | None
    joins: bool


RULES = (
    Rule(Claim.CHOSEN, living=False, recent=None, joins=True),
    Rule(Claim.CHOSEN, living=True, recent=None, joins=False),
    Rule(Claim.CURRENT, living=False, recent=True, joins=True),
    Rule(Claim.CURRENT, living=False, recent=False, joins=False),
    Rule(Claim.CURRENT, living=True, recent=None, joins=False),
    Rule(Claim.ONLY, living=False, recent=True, joins=True),
    Rule(Claim.ONLY, living=False, recent=False, joins=False),
    Rule(Claim.ONLY, living=True, recent=None, joins=False),
    Rule(Claim.SEVERAL, living=None, recent=None, joins=False),
    Rule(Claim.NONE, living=None, recent=None, joins=False),
)
LIVING = {True: "yes", False: "no", None: "-"}
RECENT = {True: "within `join.hours`", False: "longer ago", None: "-"}
JOINS = {True: "joins it", False: "starts its own run"}
# What a conversation tells, and the move that it is; None moves nothing.
TOLD: dict[str, Move | None] = {
    "begins": Move.ATTEND,
    "typed `*command`": None,
    "first prompt": Move.ACT,
    "action, end of a turn": Move.ATTEND,
    "ends": None,
}


def claim(pointed: Run | None, open_here: Sequence[Run]) -> tuple[Claim, Run | None]:
    """The run that a worktree means to a new conversation: the open one it points at, or else its only open one."""
    if pointed is not None:
        return (Claim.CURRENT if pointed.unasked else Claim.CHOSEN), pointed
    if len(open_here) == 1:
        return Claim.ONLY, open_here[0]
    return (Claim.SEVERAL if open_here else Claim.NONE), None


def joins(claim: Claim, *, living: bool, recent: bool) -> bool:
    """Whether a new conversation joins the run of that claim. The run's status does not matter."""
    return next(rule.joins for rule in RULES if _fits(rule, claim, living, recent))


def _fits(rule: Rule, claim: Claim, living: bool, recent: bool) -> bool:
    return rule.claim is claim and rule.living in (None, living) and rule.recent in (None, recent)


def table() -> str:
    """The rules as a Markdown table."""
    rows = [f"| {rule.claim} | {LIVING[rule.living]} | {RECENT[rule.recent]} | {JOINS[rule.joins]} |" for rule in RULES]
    return _markdown(
        "| the worktree's run | a living process works on it | last worked on | a new conversation |", rows
    )


def waking_table() -> str:
    """The status of a run after each thing that a conversation on it tells, as a Markdown table."""
    statuses = [status for status in Status if status in OPEN]
    rows = [f"| {status} | {' | '.join(after(status, move) for move in TOLD.values())} |" for status in statuses]
    return _markdown(f"| status | {' | '.join(TOLD)} |", rows)


def after(status: Status, move: Move | None) -> Status:
    return transition(status, move).status if move else status


def _markdown(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + " --- |" * (head.count("|") - 1), *rows]) + "\n"
