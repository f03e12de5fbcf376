"""What every test stands on: a home that nobody else has, a clock that ticks, a project in a real repository."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import holdfast
from holdfast.project.workspace import Workspace
from tests.tools import Command

pytest_plugins = ("tests.promises", "tests.event_keys", "tests.faber_project")

# A background job of a shell ignores Ctrl-C, and one under `nohup` a closed terminal: so would all that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says what else the machine does, and not whether the code is right.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


class TickingClock:
    """One second passes with every look."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own, and an environment without anything of ours or git's."""
    directory = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("HOLDFAST", "GIT_", "XDG_", "CLAUDE", "_HOLDFAST")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return directory


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty git repository."""
    directory = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    return directory


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def project(repository: Path, clock: TickingClock) -> Iterator[Workspace]:
    """A workspace with a store and no run. When the test is over, the store must be whole."""
    with holdfast.open(repository, clock=clock) as workspace:
        holdfast.init(workspace)
        yield workspace
        found = holdfast.verify(workspace)
        assert found.problems == []


@pytest.fixture
def cli(repository: Path) -> Callable[..., Command]:
    """Run the real command in the repository: `cli("start", "goal")`."""
    return lambda *arguments, **options: Command.run(*arguments, **{"directory": repository, **options})
