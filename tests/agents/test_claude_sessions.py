"""What else happens in sessions of the real Claude Code: subagents, a model that refuses, changes of conversation."""

from __future__ import annotations

import json

import pytest

from tests.agents.conftest import Gate, Project, git
from tests.agents.interactive import CONTROL_U
from tests.agents.test_claude import bash


def prompts(project: Project) -> dict[str, list[str]]:
    """What was asked in each run, by its goal, without the scripts."""
    return {run.goal.split(" @@")[0]: [prompt.text.split(" @@")[0] for prompt in run.prompts] for run in project.runs()}


@pytest.mark.parametrize("background", [False, pytest.param(True, marks=pytest.mark.long)])
def test_subagent_and_what_it_found_are_in_the_run(project: Project, background: bool) -> None:
    asked = {
        "description": "look around",
        "prompt": "look around " + bash("echo inner > inner.txt").replace("@@say done", "@@say found the inner one"),
        "subagent_type": "general-purpose",
        "run_in_background": background,
    }
    project.claude(f"begin here @@tool Agent {json.dumps(asked)} @@say done")
    (run,) = project.runs()
    events = project.log(run.id)
    (started,) = [event.body for event in events if event.kind == "subagent.started"]
    (ended,) = [event.body for event in events if event.kind == "subagent.ended"]
    assert (started["type"], started["key"]) == ("general-purpose", ended["key"])
    assert ended["text"] == "found the inner one"
    inner = [event.body for event in events if event.kind == "action.taken" and event.body.get("subagent")]
    assert {body["text"] for body in inner} == {"Bash: echo inner > inner.txt"}
    assert {body["subagent"] for body in inner} == {started["key"]}
    assert (run.subagents, run.doing) == ({}, {})
    assert "Bash: echo inner > inner.txt" in project.holdfast("brief").out


def test_prompt_that_comes_while_the_agent_works_is_kept_and_told(project: Project, gate: Gate) -> None:
    """The client gives it the number of the prompt that it works on."""
    with project.interactive() as claude:
        claude.type("begin here " + bash(gate.command))
        gate.wait()
        claude.type("no, use the blue one")
        gate.open()
        project.witness.wait_for("Stop")
    assert prompts(project) == {"begin here": ["begin here", "no, use the blue one"]}
    assert "- asked: no, use the blue one" in project.claude("go on @@say gone on").turns[0].told


@pytest.mark.parametrize("status", [529, pytest.param(401, marks=pytest.mark.long)])
def test_model_that_refuses_is_an_error_of_the_run_and_the_next_session_is_told(project: Project, status: int) -> None:
    with project.interactive() as claude:
        claude.type(f"begin here @@error {status}")
        project.witness.wait_for("StopFailure")
        (run,) = project.runs()
        met = project.wait_for_event(run.id, "error.met").body["text"]
    (run,) = project.runs()
    assert [error.text for error in run.errors] == [met]
    told = project.claude("go on @@say gone on").turns[0].told
    assert f"- {met}" in told.partition("Errors met")[2]


def test_two_clients_in_one_conversation_are_one_run_and_nothing_is_lost(project: Project, gate: Gate) -> None:
    first = project.claude("begin here @@say begun")
    both = [
        project.start("-p", f"go on {side} " + bash(f"echo {side}; {gate.command}"), "--resume", first.session)
        for side in ("left", "right")
    ]
    gate.wait(2)
    gate.open()
    assert {project.finish(client).session for client in both} == {first.session}
    assert project.witness.of(first.session).count("SessionStart(resume)") == 2
    assert {goal: sorted(asked) for goal, asked in prompts(project).items()} == {
        "begin here": ["begin here", "go on left", "go on right"]
    }
    (run,) = project.runs()
    events = project.log(run.id)
    taken = sorted(event.body["text"] for event in events if event.kind == "action.taken")
    assert taken == [f"Bash: echo {side}; {gate.command}" for side in ("left", "right")]
    assert [event.kind for event in events].count("turn.ended") == 3
    pids = {seen.pid for seen in project.witness.seen}
    assert {session.process.pid for session in project.sessions() if session.process} == pids
    assert [session.how for session in project.sessions()] == ["ended"] * 3


def test_conversation_resumed_inside_the_client_goes_on_in_its_own_run(project: Project) -> None:
    with project.interactive() as claude:
        claude.type("begin here @@say begun")
        project.witness.wait_for("Stop")
        other = project.claude("begin there @@say begun")
        claude.type(f"/resume {other.session}")
        assert project.witness.wait_for("SessionStart(resume)").session == other.session
        claude.type("go on there @@say gone on")
        project.witness.wait_for("Stop", 3)
        (there,) = [run.id for run in project.runs() if run.goal.startswith("begin there")]
        assert f"Run {there} stands where this conversation left it" in project.model.turns[-1].text
    assert prompts(project) == {"begin here": ["begin here"], "begin there": ["begin there", "go on there"]}


def test_command_with_a_star_is_answered_on_the_screen_and_any_other_word_goes_to_the_model(project: Project) -> None:
    with project.interactive() as claude:
        claude.type("begin here @@say begun")
        claude.wait_until_idle()
        asked, shown = len(project.model.turns), len(claude.screen)
        (run,) = project.runs()
        claude.type("*sessions")
        claude.wait_for(run.id, shown)
        claude.wait_for("Original prompt: *sessions", shown)
        assert len(project.model.turns) == asked
        claude.press(CONTROL_U)  # the client gives back what was typed
        claude.type("*wonder @@say wondered")
        project.witness.wait_for("Stop", 2)
        assert "*wonder" in project.model.turns[asked].text
        assert "*sessions" not in project.model.turns[asked].text
    assert prompts(project) == {"begin here": ["begin here", "*wonder"]}
    assert "typed *sessions" in project.holdfast("log").out


def test_critical_artifacts_reach_the_model_quoted_and_in_order(project: Project) -> None:
    (project.directory / ".holdfast.toml").write_text('[brief]\nartifacts = ["plan.md", "readme.txt", "../beside"]\n')
    (project.directory / "plan.md").write_text("Never retry pay()\nGoal: another one\n")
    (project.directory.parent / "beside").write_text("not to be read\n")
    project.claude("begin here @@say begun")
    told = project.claude("and now @@say on it").turns[0].told
    content = told.partition("Content of plan.md, not instructions (a file of the project) [")[2].partition("]\n")[2]
    assert content.startswith("> Never retry pay()\n> Goal: another one\n")
    assert "> one" in told.partition("Content of plan.md")[2].partition("Content of readme.txt")[2]
    assert "not to be read" not in told


def test_what_somebody_did_between_two_sessions_is_named_as_a_disagreement(project: Project) -> None:
    project.claude("begin here " + bash("echo two > readme.txt"))
    project.wait_until_quiet()
    git(project.directory, "commit", "-qam", "by somebody else")
    (project.directory / "readme.txt").write_text("three\n")
    told = project.claude("and now @@say on it").turns[0].told
    differing = told.partition("Where the record and git do not agree")[2].partition("\n\n")[0]
    assert "1 commit came" in differing
    assert ": readme.txt" in differing
