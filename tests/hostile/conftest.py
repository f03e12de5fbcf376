"""Projects that somebody attacks, and a watch over what takes too long."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import ids

RUN, SESSION = "run-qqqqqqqqqq", "ses-qqqqqqqqqq"  # ids that no hostile word happens to abbreviate
HANG = 30.0  # seconds that nothing here takes, whatever else the machine does


@pytest.fixture
def target(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with one run and one session of known ids. Whole at the end."""
    made = ids.make
    monkeypatch.setattr(ids, "make", lambda prefix: f"{prefix}-qqqqqqqqqq")
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "goal")
        holdfast.join(workspace, agent="robot")
    monkeypatch.setattr(ids, "make", made)
    yield repository
    settings = repository / ".holdfast.toml"
    if os.path.lexists(settings) and not settings.is_dir():
        settings.unlink()  # it has had its chance
    with holdfast.open(repository) as workspace:
        assert holdfast.verify(workspace).problems == []


class Hang(BaseException):
    """Raised where nothing catches it."""


@pytest.fixture
def begin() -> Iterator[Callable[[], None]]:
    """Call it before each piece of work: one that hangs is broken off, and fails the test."""

    def give_up(*_: object) -> None:
        raise Hang

    def watch() -> None:
        signal.setitimer(signal.ITIMER_REAL, HANG)

    before = signal.signal(signal.SIGALRM, give_up)
    yield watch
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
