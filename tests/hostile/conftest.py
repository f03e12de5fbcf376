"""Projects that somebody attacks, an exported run, and a watch over what takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core import ids
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.worktrees import put, take

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


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store that takes nothing in, all the time, so that one is enough; in the end it must be whole."""
    base = tmp_path_factory.mktemp("stage")
    subprocess.run(["git", "init", "-q", str(base / "project")], check=True)
    environ = {**os.environ, "HOME": str(base / "home"), "HOLDFAST_STATE_DIR": str(base / "state")}
    with holdfast.open(base / "project", environ=environ, clock=TickingClock()) as workspace:
        yield workspace
        assert holdfast.verify(workspace, deep=True).problems == []


@pytest.fixture(scope="module")
def file(stage: Workspace) -> Path:
    """A whole export of a run with code, which is not in that store any more."""
    run = holdfast.start(stage, "goal").run.id
    put(stage.root, {"a.py": "one\n" * 20, "src/b.py": "two\n"})
    (stage.root / "tool").write_text("x")
    (stage.root / "tool").chmod(0o700)
    take(stage, "first")
    holdfast.join(stage, agent="robot")
    holdfast.note(stage, "a note")
    path = stage.root.with_name("run.holdfast")
    holdfast.export(stage, run, path, raw=True)
    holdfast.delete(stage, run, purge=True)
    return path


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
