"""The injectable clock, the time zone of output, and microsecond timestamps."""

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


_zone = ContextVar("zone", default=Zone.LOCAL)  # zone of the current command's output


@contextmanager
def printed_in(zone: Zone) -> Iterator[None]:
    """Print times in this zone within the block."""
    token = _zone.set(zone)
    try:
        yield
    finally:
        _zone.reset(token)


def shown(time: datetime, *, seconds: bool = False) -> str:
    """Return a time as printed by the current command."""
    return text.format_time(time, _zone.get(), seconds=seconds)


def ago(time: datetime, now: datetime | None = None) -> str:
    return text.ago(time, now or datetime.now(UTC))


def boot() -> str:
    return str(moment()[0])


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(number: int) -> datetime:
    """Return the time, clamped to the range of `datetime`: a wrong clock must not make a run unreadable."""
    try:
        return EPOCH + timedelta(microseconds=number)
    except OverflowError:
        return EPOCH if number < 0 else datetime.max.replace(tzinfo=UTC)
