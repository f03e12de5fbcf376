"""Locks: as long as somebody else holds one, a verb that needs it changes nothing, and says who has it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.agents import install
from holdfast.core.errors import Busy
from holdfast.layouts.goteam.files import place_of
from holdfast.layouts.memory import own_directory
from holdfast.layouts.orchestrator import SESSION
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files

pytestmark = pytest.mark.promise(12)

BUSY = "does not finish"


def of_store(workspace: Workspace) -> Path:
    return workspace.place / "lock"


def of_worktree(workspace: Workspace) -> Path:
    with shadow_of(workspace) as shadow:
        return shadow.directory / "lock"


def of_session_file(workspace: Workspace) -> Path:
    files.make_private_directory(own_directory(workspace).parent)
    files.make_private_directory(own_directory(workspace))
    return own_directory(workspace) / "session.lock"


def of_team(workspace: Workspace) -> Path:
    place = place_of(workspace).parent
    files.make_private_directory(place.parent)
    files.make_private_directory(place)
    return place / "team.lock"


def of_repair(workspace: Workspace) -> Path:
    return workspace.place / "repair.lock"


def of_settings(workspace: Workspace) -> Path:
    place = workspace.user_directory("state")
    files.make_private_directory(place / "installed")
    return place / "installed" / "lock"


def look_at_worktree(workspace: Workspace) -> None:
    with shadow_of(workspace, patience=0.1):
        pass


HELD: dict[str, tuple[Callable[[Workspace], Path], Callable[[Workspace], object]]] = {
    "store": (of_store, lambda workspace: holdfast.start(workspace, "goal")),
    "worktree": (of_worktree, look_at_worktree),
    "repair": (of_repair, holdfast.repair),
    "team": (of_team, lambda workspace: holdfast.start(workspace, "goal", layout="go-team")),
    "settings": (of_settings, lambda workspace: holdfast.init(workspace, agent="claude")),
}


@pytest.fixture
def impatient(repository: Path, monkeypatch: pytest.MonkeyPatch, project: Workspace) -> Workspace:
    """A project in which nobody waits longer than a moment."""
    monkeypatch.setenv("HOLDFAST_STORE_DEADLINE", "0.1")
    monkeypatch.setattr(install, "PATIENCE", 0.1)
    return holdfast.open(repository)


@pytest.mark.parametrize("name", HELD)
def test_a_verb_waits_for_who_holds_its_lock_and_names_him(name: str, impatient: Workspace) -> None:
    place, verb = HELD[name]
    with files.lock(place(impatient), 1.0), pytest.raises(Busy, match=BUSY) as refused:
        verb(impatient)
    assert str(os.getpid()) in dict(refused.value.facts)["process"]
    verb(impatient)


def test_the_orchestrators_file_is_left_alone_while_somebody_holds_its_lock(impatient: Workspace) -> None:
    with files.lock(of_session_file(impatient), 1.0):
        holdfast.start(impatient, "goal", layout="orchestrator")
        assert not (impatient.root / SESSION).exists()
    holdfast.note(impatient, "later")
    assert (impatient.root / SESSION).exists()
