"""A Go Team run in the real client: its actions, hand-offs and breakpoints fill the live state by themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.core.model import Status
from tests.agents.conftest import Gate, Project
from tests.agents.interactive import CONTROL_U, Interactive
from tests.agents.test_claude import bash, tool


class Team:
    """A project with a Go Team run that has just been started."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.run = project.holdfast("start", "user-authentication-service", "--layout", "go-team").out.split()[-1]

    def state(self) -> Any:
        """The live state, after all that the client has called so far."""
        self.project.holdfast("status")
        return json.loads((self.project.directory / "checkpoints" / self.run / "state.json").read_bytes())

    def wait_for(self, is_so: Callable[[Any], bool]) -> Any:
        """The live state, once it is so: the client does not wait for every call."""
        for _ in range(100):
            if is_so(found := self.state()):
                return found
        raise AssertionError(f"it never came to that: {found}")

    def path(self, name: str) -> str:
        return str(self.project.directory / name)

    def allow(self, *tools: str) -> None:
        path = self.project.home / ".claude" / "settings.json"
        settings = json.loads(path.read_text())
        settings["permissions"]["allow"] = list(tools)
        path.write_text(json.dumps(settings))


@pytest.fixture
def team(project: Project) -> Team:
    return Team(project)


def clear(claude: Interactive) -> None:
    """Clear the input line, into which the client has put back what was typed."""
    shown = len(claude.screen)
    claude.press(CONTROL_U)
    claude.wait_for("Ctrl+Y", shown)


def step(name: str, **given: str) -> str:
    """One tool of a script that goes on after it."""
    return tool(name, **given).removesuffix(" @@say done")


def test_writing_editing_and_commands_are_actions_and_fill_in_files(team: Team) -> None:
    written = step("Write", file_path=team.path("internal/auth.go"), content="package auth\n")
    tested = step("Write", file_path=team.path("internal/auth_test.go"), content="package auth\n")
    edited = step("Edit", file_path=team.path("internal/auth.go"), old_string="auth", new_string="login")
    team.project.claude(f"work {written} {tested} {edited} @@say done")
    found = team.state()
    assert found["context"]["last_action"] == "Edit: internal/auth.go"
    assert found["context"]["current_file"] == "internal/auth.go"
    assert found["recovery_point"]["actions_since_checkpoint"] == 3
    assert sorted(found["outputs"]["code_files"] + found["outputs"]["test_files"]) == [
        "internal/auth.go",
        "internal/auth_test.go",
    ]
    assert found["outputs"]["test_files"] == ["internal/auth_test.go"]
    team.project.claude("go on " + bash("go version || true"))
    found = team.state()
    assert found["context"]["last_action"] == "Bash: go version || true"
    assert found["context"]["current_file"] == "internal/auth.go"
    (run,) = team.project.runs()
    assert (run.id, run.layout) == (team.run, "go-team")


def test_a_subagent_that_begins_has_the_run_handed_to_it_while_it_works(team: Team, gate: Gate) -> None:
    asked = {
        "description": "look around",
        "prompt": "look around " + bash(gate.command),
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    client = team.project.start("-p", f"begin here @@tool Agent {json.dumps(asked)} @@say done")
    gate.wait()
    found = team.state()
    assert found["state"]["current_agent"] == "general-purpose"
    assert found["outputs"]["partial_output"] == f"Bash: {gate.command}"
    gate.open()
    assert team.project.finish(client).code == 0
    assert [event.body["agent"] for event in team.project.log(team.run) if event.kind == "handoff.made"] == [
        "general-purpose"
    ]


def test_the_end_of_a_turn_is_a_breakpoint_and_the_next_prompt_answers_it(team: Team, gate: Gate) -> None:
    done = team.project.claude("begin here @@say begun")
    found = team.state()
    assert (found["state"]["breakpoint_active"], found["save_trigger"]) == (True, "breakpoint")
    client = team.project.start("-p", "go on " + bash(gate.command), "--resume", done.session)
    gate.wait()
    assert team.state()["state"]["breakpoint_active"] is False
    gate.open()
    assert team.project.finish(client).code == 0


def test_a_permission_prompt_is_a_breakpoint_until_it_is_answered(team: Team) -> None:
    team.allow("Read")
    with team.project.interactive() as claude:
        claude.type("write it " + tool("Write", file_path=team.path("auth.go"), content="package auth\n"))
        claude.wait_for("Do you want to create auth.go?")
        found = team.wait_for(lambda state: state["state"]["breakpoint_active"])
        assert found["save_trigger"] == "breakpoint"
        assert found["outputs"]["code_files"] == []
        assert "Stop" not in team.project.witness.names
        claude.press_until("\r", lambda: team.project.witness.has_come("PostToolUse(Write)", 10))
        team.project.witness.wait_for("Stop")
        claude.wait_until_idle()
    found = team.state()
    assert found["outputs"]["code_files"] == ["auth.go"]
    told = [event.body["on"] for event in team.project.log(team.run) if event.kind == "breakpoint.set"]
    assert told == [True, False, True]


def test_what_was_not_permitted_is_no_file_of_the_run(team: Team) -> None:
    team.allow("Read")
    team.project.claude("write it " + tool("Write", file_path=team.path("auth.go"), content="package auth\n"))
    found = team.state()
    assert not (team.project.directory / "auth.go").exists()
    assert (found["outputs"]["code_files"], found["context"]["current_file"]) == ([], None)


def test_after_a_crash_the_way_to_go_on_is_offered_and_chosen_in_the_client(team: Team, gate: Gate) -> None:
    project = team.project
    project.holdfast("step", "complete", "init")
    written = step("Write", file_path=team.path("half.go"), content="package half\n")
    client = project.start("-p", f"begin here {written} " + bash(gate.command))
    gate.wait()
    client.kill()
    client.communicate()
    gate.open()
    with project.interactive() as claude:
        project.holdfast("status")
        assert [run.status for run in project.runs()] == [Status.INTERRUPTED]
        claude.wait_for(f"Go Team session {team.run} was interrupted")
        claude.wait_for("*resume checkpoint")
        asked, shown = len(project.model.turns), len(claude.screen)
        claude.type("*sessions")
        claude.wait_for("Found 1 session(s) that can be resumed", shown)
        claude.wait_for("Original prompt: *sessions", shown)
        claude.type("*resume checkpoint")  # behind the line that the client has put back
        claude.wait_for("Recovered from: checkpoint", shown)
        assert not (project.directory / "half.go").exists()
        assert len(project.model.turns) == asked, "nothing of it reached the model"
        clear(claude)
        claude.type("go on @@say gone on")
        project.witness.wait_for("Stop")
        asked_last = project.model.turns[-1]
        assert f"Go Team session {team.run} was interrupted" in asked_last.text, "as it was told at the beginning"
        assert "- `*resume checkpoint`" in asked_last.text
        assert "The user typed `*resume checkpoint` into the client" in asked_last.text
        assert f"# Where run {team.run} stands" in asked_last.told
        assert "Status: active" in asked_last.told
        claude.wait_until_idle()
        claude.type("and on @@say gone on")
        project.witness.wait_for("Stop", 2)
        assert project.model.turns[-1].text.count("The user typed `*resume checkpoint`") == 1, "once is enough"
    (run,) = project.runs()
    assert [prompt.text.split(" @@")[0] for prompt in run.prompts][-2:] == ["go on", "and on"]


def test_a_new_session_that_is_typed_into_the_client_takes_the_conversation_along(team: Team) -> None:
    project = team.project
    with project.interactive() as claude:
        claude.type("begin here @@say begun")
        claude.wait_until_idle()
        shown = len(claude.screen)
        claude.type("*new payment-gateway")
        claude.wait_for("GO TEAM SESSION STARTED", shown)
        clear(claude)
        claude.type("chapter one @@say written")
        project.witness.wait_for("Stop", 2)
        claude.wait_until_idle()
    told = project.model.turns[-1]
    assert "The user typed `*new payment-gateway` into the client" in told.text
    assert "Goal: payment-gateway" in told.told
    after, before = project.runs()
    assert (after.goal, after.layout, before.id) == ("payment-gateway", "go-team", team.run)
    assert [prompt.text.split(" @@")[0] for prompt in after.prompts] == ["chapter one"]
    assert [prompt.text.split(" @@")[0] for prompt in before.prompts] == ["begin here"]
    assert before.status is Status.PAUSED
