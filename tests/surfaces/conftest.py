"""A project in which something has happened, and the command inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from tests.surfaces.commands import NEED_CHECKPOINTS, Case, Known, with_checkpoints
from tests.surfaces.faber_files import an_active_run
from tests.surfaces.in_process import call
from tests.tools import Command


@pytest.fixture
def say(repository: Path) -> Callable[..., Command]:
    """Run the command in the repository without a process: `say("status", "--json")`."""
    return lambda *arguments, **options: call(*arguments, **{"directory": repository, **options})


@pytest.fixture
def worked(repository: Path, request: pytest.FixtureRequest) -> Iterator[Known]:
    """Two runs: one paused, one with a session, tasks, a decision, a note and an action. Whole at the end.

    Where the test is about a verb that needs checkpoints, there are two; for one about agents there is one.
    """
    case = getattr(request.node, "callspec", None) and request.node.callspec.params.get("case")
    with holdfast.open(repository) as workspace:
        earlier = holdfast.start(workspace, "Fix the flaky test").run
        run = holdfast.start(workspace, "Add retries to the client").run
        session = holdfast.join(workspace, run.id, agent="robot").session
        holdfast.add_task(workspace, "Write the tests")
        holdfast.add_task(workspace, "Ship it")
        holdfast.decide(workspace, "Use backoff", because="the server sheds load")
        holdfast.note(workspace, "Needs a VPN")
        holdfast.action(workspace, "Edited client.py", files=("client.py",))
        known = Known(run.id, earlier.id, session.id)
        if isinstance(case, Case) and case.words in NEED_CHECKPOINTS:
            known = with_checkpoints(workspace, known)
        if isinstance(case, Case) and case.words == "restore-backup":
            holdfast.backup(workspace, str(repository.parent / "before.tar.gz"))
        if isinstance(case, Case) and case.words.startswith("agent "):
            holdfast.start_agent(workspace, "code", "Retry")
    yield known
    with holdfast.open(repository) as workspace:
        if workspace.is_off:
            holdfast.on(workspace)
        assert holdfast.verify(workspace).problems == []


@pytest.fixture
def active(repository: Path) -> Path:
    """A FABER run in a project without a store."""
    return an_active_run(repository)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that draws."""
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
