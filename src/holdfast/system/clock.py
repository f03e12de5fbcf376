"""The time, as a thing that can be handed in: the wall clock for people, the boot clock for order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Protocol

from holdfast.core import text
from holdfast.core.text import Zone
from holdfast.system.boot import moment

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


_zone = ContextVar("zone", default=Zone.LOCAL)  # in which the command that runs prints times


@contextmanager
def printed_in(zone: Zone) -> Iterator[None]:
    """Let `shown` print times in this zone meanwhile."""
    token = _zone.set(zone)
    try:
        yield
    finally:
        _zone.reset(token)


def shown(time: datetime, *, seconds: bool = False) -> str:
    """A time as the command that runs prints it."""
    return text.format_time(time, _zone.get(), seconds=seconds)


def ago(time: datetime, now: datetime | None = None) -> str:
    """How long ago a time was."""
    return text.ago(time, now or datetime.now(UTC))


def boot() -> str:
    return str(moment()[0])


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(number: int) -> datetime:
    """The moment, held within what a calendar can show: a clock that was wrong must not make a run unreadable."""
    try:
        return EPOCH + timedelta(microseconds=number)
    except OverflowError:
        return EPOCH if number < 0 else datetime.max.replace(tzinfo=UTC)
