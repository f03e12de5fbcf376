"""An archived session of the orchestrator that is chosen again: it comes out of the history, whichever way it was
chosen."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from tests.ingest.test_routing import a_client, prompt, sessions, tell
from tests.orchestrator_project import agree, archived, orchestrate, session_of
from tests.sessions import run_of
from tests.tools import Command


def typed(project: Workspace, run: str) -> None:
    """As typed into a client that works on the current run."""
    with a_client() as client:
        tell(project, "SessionStart", "talk", client, source="startup")
        prompt(project, "talk", client, "begin here")
        environ = {**os.environ, "CLAUDE_CODE_SESSION_ID": "talk"}
        with Workspace(
            project.root, project.place, clock=project.clock, environ=environ, rules_of=project.rules_of
        ) as inside:
            inside.session = sessions(project, "talk")[0].id
            holdfast.command(inside, f"*resume:{run}")
        tell(project, "SessionEnd", "talk", client, reason="other")
    holdfast.status(project)


WAYS: dict[str, Callable[[Workspace, str], object]] = {
    "switch": holdfast.switch,
    "resume": holdfast.resume,
    "join": holdfast.join,
    "run": lambda project, run: holdfast.run(project, ["true"], run=run),
    "command": lambda project, run: holdfast.command(project, f"*resume:{run}"),
    "typed": typed,
}


@pytest.mark.defect("An archived session of the orchestrator that was chosen stayed archived, and notes went elsewhere")
@pytest.mark.parametrize("is_over", [False, True], ids=["followed", "followed and completed"])
@pytest.mark.parametrize("way", WAYS)
def test_an_archived_session_that_is_chosen_is_the_one_that_commands_mean(
    project: Workspace, way: str, is_over: bool
) -> None:
    first, second = orchestrate(project, "First"), orchestrate(project, "Second")
    if is_over:
        holdfast.note(project, "begun")
        holdfast.complete(project)
    WAYS[way](project, first.id)
    assert run_of(project).id == first.id
    Command.run("note", "x", directory=project.root).ok()
    assert [note.text for note in run_of(project, first.id).notes] == ["x"]
    assert session_of(project)["session_id"] == first.id
    assert list(archived(project)) == [f"{second.id}.json"]
    assert agree(project, first.id).archived is None
    assert not run_of(project, second.id).is_open
