"""Which run a new conversation of the real client joins, and that a paused run stays paused around it."""

from __future__ import annotations

import json

import pytest

from holdfast.core.model import Run, Status
from tests.agents.conftest import Project
from tests.agents.interactive import CONTROL_U

FILES = {"orchestrator": ".claude/orchestrator-session.json", "go-team": "checkpoints/sessions.json"}


def start(project: Project, goal: str, *options: str) -> str:
    return project.holdfast("start", goal, *options, "-q").out.split()[-1]


def get_run(project: Project, id: str) -> Run:
    return next(run for run in project.runs() if run.id == id)


def test_a_new_conversation_joins_the_paused_run_that_was_chosen(project: Project) -> None:
    first, second = start(project, "first"), start(project, "second")
    project.holdfast("switch", first)
    asked = project.claude("hi @@say hello")
    assert first in asked.turns[0].told
    assert {run.id for run in project.runs()} == {first, second}
    assert [prompt.text for prompt in get_run(project, first).prompts] == ["hi @@say hello"]
    assert get_run(project, first).status is Status.ACTIVE


def test_the_command_that_resume_prints_chooses_nothing(project: Project) -> None:
    first, second = start(project, "first"), start(project, "second")
    project.holdfast("resume", first, "--print")
    project.claude("hi @@say hello")
    assert [prompt.text for prompt in get_run(project, first).prompts] == []
    assert [prompt.text for prompt in get_run(project, second).prompts] == ["hi @@say hello"]


@pytest.mark.parametrize("layout", ["native", *FILES])
def test_a_run_that_is_paused_by_a_typed_command_stays_paused_when_the_client_ends(
    project: Project, layout: str
) -> None:
    run = start(project, "fix it", "--layout", layout)
    with project.interactive() as claude:
        claude.type("begin here @@say begun")
        claude.wait_until_idle()
        seen = len(claude.screen)
        claude.type("*pause")
        claude.wait_for("Original prompt: *pause", seen)
        claude.press(CONTROL_U)
        claude.type("/exit")
        assert claude.finish() == 0
    project.wait_until_quiet()
    project.holdfast("status")
    assert get_run(project, run).status is Status.PAUSED
    if layout in FILES:
        shown = json.loads((project.directory / FILES[layout]).read_bytes())
        assert [found["status"] for found in shown.get("sessions", [shown])] == ["paused"]
