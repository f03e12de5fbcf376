"""The lifecycle of a run: one table, decided purely, drawn by calling it.

`transition` answers with the new status and with what has to be done because of it; whoever asked does it. A move that
the table does not have is refused with the reason and the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.model import OPEN, Run, Status


class Move(StrEnum):
    TELL = "tell"  # somebody wrote something down
    ATTEND = "attend"  # a session was opened, or its client reports an action, a turn, a compaction
    ACT = "act"  # an agent was given a prompt, or a program recorded work
    RESUME = "resume"
    PAUSE = "pause"
    INTERRUPT = "interrupt"  # its process is gone
    COMPLETE = "complete"
    FAIL = "fail"
    ABORT = "abort"
    ABANDON = "abandon"
    REOPEN = "reopen"  # its end was a mistake


class Effect(StrEnum):
    CHANGED = "changed"
    END_SESSIONS = "end_sessions"


class Transition(Struct, frozen=True):
    status: Status
    effects: frozenset[Effect]


ENDINGS = {
    Move.COMPLETE: Status.COMPLETED,
    Move.FAIL: Status.FAILED,
    Move.ABORT: Status.ABORTED,
    Move.ABANDON: Status.ABANDONED,
}
ENDED = frozenset({Effect.CHANGED, Effect.END_SESSIONS})
MOVED = frozenset({Effect.CHANGED})

TABLE: dict[tuple[Status, Move], Transition] = {
    (Status.CREATED, Move.TELL): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Move.ATTEND): Transition(Status.ACTIVE, MOVED),
    (Status.INTERRUPTED, Move.ATTEND): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Move.ACT): Transition(Status.ACTIVE, MOVED),
    (Status.PAUSED, Move.ACT): Transition(Status.ACTIVE, MOVED),
    (Status.INTERRUPTED, Move.ACT): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Move.RESUME): Transition(Status.ACTIVE, MOVED),
    (Status.PAUSED, Move.RESUME): Transition(Status.ACTIVE, MOVED),
    (Status.INTERRUPTED, Move.RESUME): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Move.PAUSE): Transition(Status.PAUSED, MOVED),
    (Status.ACTIVE, Move.PAUSE): Transition(Status.PAUSED, MOVED),
    (Status.INTERRUPTED, Move.PAUSE): Transition(Status.PAUSED, MOVED),
    (Status.CREATED, Move.INTERRUPT): Transition(Status.INTERRUPTED, MOVED),
    (Status.ACTIVE, Move.INTERRUPT): Transition(Status.INTERRUPTED, MOVED),
    **{(status, move): Transition(end, ENDED) for status in OPEN for move, end in ENDINGS.items()},
    **{(end, Move.REOPEN): Transition(Status.ACTIVE, MOVED) for end in ENDINGS.values()},
}
# Asked again, or of something that has its end: nothing changes, and nobody is refused.
SAME = {
    *((status, move) for status in Status for move in (Move.TELL, Move.ATTEND, Move.ACT, Move.INTERRUPT)),
    (Status.ACTIVE, Move.RESUME),
    (Status.PAUSED, Move.PAUSE),
    *((end, move) for move, end in ENDINGS.items()),
    *((status, Move.REOPEN) for status in OPEN),
}


class Rules(Struct, frozen=True):
    """The rules by which runs of one layout differ from runs of our own: values, because folding depends on them."""

    whose: str = "A run"  # in a refusal
    still: frozenset[tuple[Status, Move]] = frozenset()  # moves that change nothing
    barred: Mapping[tuple[Status, Move], str] = {}  # moves that its document does not have, each with the way out
    refusals: Mapping[tuple[Status, Move], str] = {}  # the words of its document for a refused move
    is_reopened: bool = True  # its end can be taken back here
    is_single: bool = False  # one run of a worktree at a time: the next one archives it and leaves its status
    is_recovered: bool = False  # an interrupted run is gone on with in a way that is chosen; silence holds nobody up
    has_numbered_steps: bool = False  # steps are known by number, and each completed one is kept as a checkpoint
    notes_failure: bool = False  # a failed end is an error that it met, too
    returns: bool = False  # its files would bring a deleted run back, so they go with it
    agents: Mapping[str, str] = {}  # the agent of a step that names none, by the step's name
    files: tuple[str, ...] = ()  # below the worktree, in which we show its runs
    is_known: bool = True  # false: another version wrote the run


NATIVE = Rules()
RulesOf = Callable[[str], Rules]  # by the name of a layout


def native_rules(layout: str) -> Rules:
    """The rules for every run where no layout is known."""
    return NATIVE


def transition(status: Status, move: Move, rules: Rules = NATIVE) -> Transition:
    """The status of a run after a move, and what follows from it."""
    if (status, move) in rules.still:
        return Transition(status, frozenset())
    if way := rules.barred.get((status, move)):
        facts = [("status", status), ("asked for", move)]
        raise Refused(f"{rules.whose} that is {status} cannot {move}", facts, [way])
    if found := TABLE.get((status, move)):
        return found
    if (status, move) in SAME:
        return Transition(status, frozenset())
    ways = ['`holdfast start "GOAL"` begins a new run', "`holdfast runs` lists the others"]
    if rules.is_reopened:
        ways.insert(1, "`holdfast reopen --run RUN` takes its end back")
    refusal = rules.refusals.get((status, move)) or f"A run that is {status} cannot {move}"
    raise Refused(refusal, [("status", status), ("asked for", move)], ways)


# Which run a new conversation joins


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
