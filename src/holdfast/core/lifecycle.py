"""The lifecycle of a run, and which run a new conversation joins: two tables, decided purely.

A move that the table lacks is refused, with the reason and an alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.model import OPEN, Run, Status


class Move(StrEnum):
    TELL = "tell"  # a note, decision or task was added
    ATTEND = "attend"  # a session was opened, or its client reports an action, a turn, a compaction
    ACT = "act"  # an agent was given a prompt, or a program recorded work
    RESUME = "resume"
    PAUSE = "pause"
    INTERRUPT = "interrupt"  # its process is gone
    COMPLETE = "complete"
    FAIL = "fail"
    ABORT = "abort"
    ABANDON = "abandon"
    REOPEN = "reopen"  # undo its end


ENDINGS = {
    Move.COMPLETE: Status.COMPLETED,
    Move.FAIL: Status.FAILED,
    Move.ABORT: Status.ABORTED,
    Move.ABANDON: Status.ABANDONED,
}

# Each move: the status to which it leads, and those from which it does.
MOVES: dict[Move, tuple[Status, Collection[Status]]] = {
    Move.TELL: (Status.ACTIVE, [Status.CREATED]),
    Move.ATTEND: (Status.ACTIVE, [Status.CREATED, Status.INTERRUPTED]),
    Move.ACT: (Status.ACTIVE, [Status.CREATED, Status.PAUSED, Status.INTERRUPTED]),
    Move.RESUME: (Status.ACTIVE, [Status.CREATED, Status.PAUSED, Status.INTERRUPTED]),
    Move.PAUSE: (Status.PAUSED, [Status.CREATED, Status.ACTIVE, Status.INTERRUPTED]),
    Move.INTERRUPT: (Status.INTERRUPTED, [Status.CREATED, Status.ACTIVE]),
    Move.REOPEN: (Status.ACTIVE, ENDINGS.values()),
    **{move: (end, OPEN) for move, end in ENDINGS.items()},
}
TABLE = {(status, move): to for move, (to, statuses) in MOVES.items() for status in statuses}
# Idempotent moves, and moves of an ended run: nothing changes, and nothing is refused.
SAME = {
    *((status, move) for status in Status for move in (Move.TELL, Move.ATTEND, Move.ACT, Move.INTERRUPT)),
    (Status.ACTIVE, Move.RESUME),
    (Status.PAUSED, Move.PAUSE),
    *((end, move) for move, end in ENDINGS.items()),
    *((status, Move.REOPEN) for status in OPEN),
}


class Rules(Struct, frozen=True):
    """The rules by which one layout's runs differ from native runs: values, because folding must be pure."""

    whose: str = "A run"  # subject of a refusal
    still: frozenset[tuple[Status, Move]] = frozenset()  # moves that change nothing
    barred: Mapping[tuple[Status, Move], str] = {}  # moves that its document lacks -> the alternative
    refusals: Mapping[tuple[Status, Move], str] = {}  # refused moves -> its document's words
    is_reopened: bool = True  # its end can be undone
    is_single: bool = False  # one run per worktree: the next one archives it and keeps its status
    is_recovered: bool = False  # recovery from an interruption is chosen by the user; silence blocks nothing
    has_numbered_steps: bool = False  # steps have numbers, and each completed one is kept as a checkpoint
    notes_failure: bool = False  # a failed end is recorded as an error, too
    returns: bool = False  # its files would recreate a deleted run, so they are deleted with it
    agents: Mapping[str, str] = {}  # step name -> default agent
    files: tuple[str, ...] = ()  # paths of the layout's files for its runs, below the worktree
    is_known: bool = True  # False: another version wrote the run


NATIVE = Rules()
RulesOf = Callable[[str], Rules]  # by layout name


def native_rules(layout: str) -> Rules:
    return NATIVE


def transition(status: Status, move: Move, rules: Rules = NATIVE) -> Status:
    """Return the status of a run after a move."""
    if (status, move) in rules.still:
        return status
    if way := rules.barred.get((status, move)):
        facts = [("status", status), ("asked for", move)]
        raise Refused(f"{rules.whose} that is {status} cannot {move}", facts, [way])
    if found := TABLE.get((status, move)):
        return found
    if (status, move) in SAME:
        return status
    ways = ['`holdfast start "GOAL"` begins a new run', "`holdfast runs` lists the others"]
    if rules.is_reopened:
        ways.insert(1, "`holdfast reopen --run RUN` takes its end back")
    refusal = rules.refusals.get((status, move)) or f"A run that is {status} cannot {move}"
    raise Refused(refusal, [("status", status), ("asked for", move)], ways)


# Which run a new conversation joins


class Claim(StrEnum):
    CHOSEN = "chosen by `start`, `switch`, `resume`, `join` or `run`"
    CURRENT = "begun or taken in last here, without a command"
    ONLY = "the only open run"
    SEVERAL = "several open runs, none of them current"
    NONE = "no open run"


class Rule(Struct, frozen=True):
    """A row of the table; None matches both values."""

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


def claim(pointed: Run | None, open_here: Sequence[Run]) -> tuple[Claim, Run | None]:
    """Return the run that a new conversation here would mean: the worktree's current run, or its only open one."""
    if pointed is not None:
        return (Claim.CURRENT if pointed.unasked else Claim.CHOSEN), pointed
    if len(open_here) == 1:
        return Claim.ONLY, open_here[0]
    return (Claim.SEVERAL if open_here else Claim.NONE), None


def joins(claim: Claim, *, living: bool, recent: bool) -> bool:
    """Return True if a new conversation joins the claimed run. Its status does not matter."""
    return next(rule.joins for rule in RULES if _fits(rule, claim, living, recent))


def _fits(rule: Rule, claim: Claim, living: bool, recent: bool) -> bool:
    return rule.claim is claim and rule.living in (None, living) and rule.recent in (None, recent)
