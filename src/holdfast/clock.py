"""The time, as a thing that can be handed in: the wall clock for people, the boot clock for order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from holdfast import spool

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def boot() -> str:
    return str(spool.moment()[0])


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(number: int) -> datetime:
    """The moment, held within what a calendar can show: a clock that was wrong must not make a run unreadable."""
    try:
        return EPOCH + timedelta(microseconds=number)
    except OverflowError:
        return EPOCH if number < 0 else datetime.max.replace(tzinfo=UTC)
