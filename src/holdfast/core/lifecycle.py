"""The lifecycle of a run: one table, decided purely, drawn by calling it.

`transition` answers with the new status and with what has to be done because of it; whoever asked does it. A move that
the table does not have is refused with the reason and the way out.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.errors import Refused
from holdfast.core.model import OPEN, Status


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


# What the drawing of the orchestrator's document does not have, though runs of our own may do it.
NOT_DRAWN = {
    "orchestrator": {
        (Status.CREATED, Move.COMPLETE): "it has not begun: `holdfast resume` begins it",
        (Status.PAUSED, Move.COMPLETE): "it is paused: `holdfast resume` goes on with it first",
        (Status.CREATED, Move.PAUSE): "it has not begun: `holdfast resume` begins it",
    }
}


# Moves that change nothing in runs of a layout, though they change runs of our own.
UNMOVED = {
    "go-team": {(Status.INTERRUPTED, Move.ATTEND)},  # a new client must leave the choice how to recover
}


# How a layout's document refuses a move.
REFUSALS = {
    "go-team": {
        (Status.COMPLETED, Move.RESUME): "Session already completed",
        (Status.FAILED, Move.RESUME): "Session failed and cannot be resumed",
        (Status.ABANDONED, Move.RESUME): "Session abandoned and cannot be resumed",
        (Status.ABORTED, Move.RESUME): "Session abandoned and cannot be resumed",
    }
}
ENDED_ELSEWHERE = frozenset({"faber"})  # layouts whose files alone say how a run ends


def transition(status: Status, move: Move, layout: str = "native") -> Transition:
    """What a run of this status becomes by this move, and what follows from it."""
    if (status, move) in UNMOVED.get(layout, set()):
        return Transition(status, frozenset())
    if way := NOT_DRAWN.get(layout, {}).get((status, move)):
        facts = [("status", status), ("asked for", move)]
        raise Refused(f"A session of the orchestrator that is {status} cannot {move}", facts, [way])
    if found := TABLE.get((status, move)):
        return found
    if (status, move) in SAME:
        return Transition(status, frozenset())
    ways = ['`holdfast start "GOAL"` begins a new run', "`holdfast runs` lists the others"]
    if layout not in ENDED_ELSEWHERE:
        ways.insert(1, "`holdfast reopen --run RUN` takes its end back")
    refusal = REFUSALS.get(layout, {}).get((status, move)) or f"A run that is {status} cannot {move}"
    raise Refused(refusal, [("status", status), ("asked for", move)], ways)


def drawing(layout: str = "native") -> str:
    """The lifecycle as a Mermaid state diagram, made by asking `transition` for every pair."""
    arrows: dict[tuple[Status, Status], list[str]] = {}
    for status in Status:
        for move in Move:
            try:
                after = transition(status, move, layout).status
            except Refused:
                continue
            if after is not status:
                arrows.setdefault((status, after), []).append(move)
    lines = [f"    {before} --> {after}: {', '.join(moves)}" for (before, after), moves in arrows.items()]
    ends = [f"    {status} --> [*]" for status in Status if not status.is_open]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {Status.CREATED}: start", *lines, *ends]) + "\n"
