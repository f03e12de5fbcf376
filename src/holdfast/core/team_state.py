"""Where a run with steps stands: who has it, what it waits for, what it has given so far, and the points it can go to.

Values only; nothing here acts.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Kept(Struct):
    """A step's result that was kept: a checkpoint of ours, under the name that its system gives it."""

    id: str  # `cp-04-implementation-20251228-214500`
    step: str
    number: str  # `04`, `05b`
    time: datetime
    checkpoint: str | None = None  # ours; null: it is known from a file alone
    seq: int = 0  # the run's last event then
    actions: int = 0  # that were taken by then
    completes: bool = True  # whether the step was over; one turn of a loop is not
    created: list[str] = []
    modified: list[str] = []
    deleted: list[str] = []
    branch: str | None = None
    commit: str | None = None
    invalidated_by: str | None = None  # the way back that left it behind
    flaw: str | None = None  # why a file that others wrote is not proven

    @property
    def is_valid(self) -> bool:
        return self.invalidated_by is None


class Rollback(Struct):
    """One way back of a run, between two kept points."""

    id: str
    time: datetime
    reason: str
    from_checkpoint: str | None = None
    from_step: str | None = None
    to_checkpoint: str | None = None
    to_step: str | None = None


class Standing(Struct):
    agent: str | None = None  # who has the run now
    is_waiting: bool = False  # at a breakpoint, for somebody to answer
    outputs: dict[str, str | list[str]] = {}
    metrics: dict[str, bool | int | float | str] = {}
    file: str | None = None  # that was worked on last
    line: int | None = None
    actions: int = 0  # how many were ever taken
    iterations: int = 0  # turns of the review loop
    most_iterations: int = 3
    trigger: str = "action"  # what its files were last written for
    saved: datetime | None = None  # when another program saved the live state; null: the journal knows more by now
    kept: list[Kept] = []
    rollbacks: list[Rollback] = []
    recovered: str | None = None  # how it was last gone on with: `checkpoint`, `live_state` or `fresh_start`
