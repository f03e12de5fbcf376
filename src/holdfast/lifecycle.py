"""The lifecycle of a run: one table, decided purely, drawn by calling it.

`transition` answers with the new status and with what has to be done because of it; whoever asked does it. A step that
the table does not have is refused with the reason and the way out.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.errors import Refused
from holdfast.model import OPEN, Status


class Step(StrEnum):
    TELL = "tell"  # somebody wrote something down
    ACT = "act"  # an agent did something
    RESUME = "resume"
    PAUSE = "pause"
    INTERRUPT = "interrupt"  # its process is gone
    COMPLETE = "complete"
    FAIL = "fail"
    ABORT = "abort"
    ABANDON = "abandon"


class Effect(StrEnum):
    CHANGED = "changed"
    END_SESSIONS = "end_sessions"


class Transition(Struct, frozen=True):
    status: Status
    effects: frozenset[Effect]


ENDINGS = {
    Step.COMPLETE: Status.COMPLETED,
    Step.FAIL: Status.FAILED,
    Step.ABORT: Status.ABORTED,
    Step.ABANDON: Status.ABANDONED,
}
ENDED = frozenset({Effect.CHANGED, Effect.END_SESSIONS})
MOVED = frozenset({Effect.CHANGED})

TABLE: dict[tuple[Status, Step], Transition] = {
    (Status.CREATED, Step.TELL): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Step.ACT): Transition(Status.ACTIVE, MOVED),
    (Status.PAUSED, Step.ACT): Transition(Status.ACTIVE, MOVED),
    (Status.INTERRUPTED, Step.ACT): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Step.RESUME): Transition(Status.ACTIVE, MOVED),
    (Status.PAUSED, Step.RESUME): Transition(Status.ACTIVE, MOVED),
    (Status.INTERRUPTED, Step.RESUME): Transition(Status.ACTIVE, MOVED),
    (Status.CREATED, Step.PAUSE): Transition(Status.PAUSED, MOVED),
    (Status.ACTIVE, Step.PAUSE): Transition(Status.PAUSED, MOVED),
    (Status.INTERRUPTED, Step.PAUSE): Transition(Status.PAUSED, MOVED),
    (Status.CREATED, Step.INTERRUPT): Transition(Status.INTERRUPTED, MOVED),
    (Status.ACTIVE, Step.INTERRUPT): Transition(Status.INTERRUPTED, MOVED),
    **{(status, step): Transition(end, ENDED) for status in OPEN for step, end in ENDINGS.items()},
}
# Asked again, or of something that has its end: nothing changes, and nobody is refused.
SAME = {
    *((status, step) for status in Status for step in (Step.TELL, Step.ACT, Step.INTERRUPT)),
    (Status.ACTIVE, Step.RESUME),
    (Status.PAUSED, Step.PAUSE),
    *((end, step) for step, end in ENDINGS.items()),
}


def transition(status: Status, step: Step) -> Transition:
    """What a run of this status becomes by this step, and what follows from it."""
    if found := TABLE.get((status, step)):
        return found
    if (status, step) in SAME:
        return Transition(status, frozenset())
    raise Refused(
        f"A run that is {status} cannot {step}",
        [("status", status), ("asked for", step)],
        ['`holdfast start "GOAL"` begins a new run', "`holdfast runs` lists the others"],
    )


def drawing() -> str:
    """The lifecycle as a Mermaid state diagram, made by asking `transition` for every pair."""
    arrows: dict[tuple[Status, Status], list[str]] = {}
    for status in Status:
        for step in Step:
            try:
                after = transition(status, step).status
            except Refused:
                continue
            if after is not status:
                arrows.setdefault((status, after), []).append(step)
    lines = [f"    {before} --> {after}: {', '.join(steps)}" for (before, after), steps in arrows.items()]
    ends = [f"    {status} --> [*]" for status in Status if not status.is_open]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {Status.CREATED}: start", *lines, *ends]) + "\n"
