"""A project with a FABER run in it, as the verbs meet it: real files, a real store, a clock that is no earlier."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.layouts.faber.screens import ArtifactReport, Reloaded, SessionSaved
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.faber_states import ACTIVE, RUN, RUNS, a_state, put
from tests.sessions import with_environ

EVENING = datetime(2026, 1, 7, 17, 0, 0, tzinfo=UTC)  # after everything that the states tell of
STATE = f"{RUNS}/{RUN}/state.json"
WORKFLOWS = ".fractary/faber/workflows"
OURS = {"sessions", "context_metadata", "updated_at"}


class Faber:
    """A FABER run that is active, and what one can do with it."""

    def __init__(self, project: Workspace, clock: TickingClock, place: str = STATE) -> None:
        clock.time = EVENING
        self.clock = clock
        self.workspace = project
        self.root = project.root
        self.path = self.root / place
        put(self.root, ACTIVE, RUN)

    def put(self, state: object | None = None, **over: Any) -> bytes:
        """Write the state; a state that is valid where none is given."""
        put(self.root, str(self.path.relative_to(self.root)), state if state is not None else a_state(**over))
        return self.path.read_bytes()

    def workflow(self, *always: dict[str, Any], name: str = "default", **over: Any) -> None:
        """Let the run's workflow declare these artifacts."""
        put(self.root, f"{WORKFLOWS}/{name}.json", {"critical_artifacts": {"always_load": list(always), **over}})

    def load(self, **asked: Any) -> Reloaded:
        found = holdfast.session_load(self.workspace, **asked)
        assert isinstance(found, Reloaded)
        return found

    def save(self, **asked: Any) -> SessionSaved:
        found = holdfast.session_save(self.workspace, **asked)
        assert isinstance(found, SessionSaved)
        return found

    def as_client(self, id: str) -> Faber:
        """The same run, as commands meet it inside this conversation."""
        other = object.__new__(Faber)
        other.__dict__.update(self.__dict__, workspace=with_environ(self.workspace, CLAUDE_CODE_SESSION_ID=id))
        return other

    @property
    def state(self) -> Any:
        return json.loads(self.path.read_bytes())

    @property
    def records(self) -> list[dict[str, Any]]:
        history: list[dict[str, Any]] = self.state["sessions"]["session_history"]
        return history

    @property
    def backup(self) -> Path:
        return self.path.with_name(self.path.name + ".backup")


def text(id: str = "note", **over: Any) -> dict[str, Any]:
    """An artifact that is a text file of its name."""
    return {"id": id, "type": "markdown", "path": f"{id}.md", **over}


def outcomes(found: Reloaded) -> dict[str, str]:
    return {artifact.id: artifact.outcome for artifact in found.artifacts}


def artifact(found: Reloaded, id: str) -> ArtifactReport:
    return next(artifact for artifact in found.artifacts if artifact.id == id)


def changed(before: bytes, after: bytes) -> set[str]:
    """The members of a state that differ; the order of all keys must not."""
    old, new = json.loads(before), json.loads(after)
    assert [name for name in new if name in old] == list(old)
    for name, value in old.items():
        if name not in OURS:
            assert json.dumps(value) == json.dumps(new[name])  # with the order of its keys
    return {name for name in new if old.get(name) != new[name]}


@pytest.fixture
def faber(project: Workspace, clock: TickingClock) -> Faber:
    """A project whose active-run file names a FABER run that has no state file yet."""
    return Faber(project, clock)
