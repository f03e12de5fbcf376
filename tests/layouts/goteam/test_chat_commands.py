"""A Go Team run inside a client: after a crash the way to go on is chosen there, and a conversation changes runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import holdfast
from holdfast.agents import registry
from holdfast.agents.registry import find_agent
from holdfast.core.model import Process, Status
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace
from holdfast.surfaces.hooks.brief_reply import Asking, answer
from tests.go_team_project import Team
from tests.ingest.test_routing import a_client, prompt, sessions, tell
from tests.sessions import run_of


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


@pytest.fixture
def client() -> Iterator[Process]:
    with a_client() as found:
        yield found


def typed(team: Team, conversation: str, text: str) -> str:
    """The answer to what is typed into the client, as its hook finds it."""
    project = team.project
    environ = {**os.environ, "CLAUDE_CODE_SESSION_ID": conversation}
    with Workspace(
        project.root, project.place, clock=project.clock, environ=environ, rules_of=project.rules_of, clients=registry
    ) as inside:
        inside.session = sessions(project, conversation)[0].id
        return holdfast.command(inside, text).text


def crashed(team: Team) -> str:
    """A run with one step whose client was killed at work on the second one."""
    run = team.begin().id
    with a_client() as first:
        tell(team.project, "SessionStart", "first", first, source="startup")
        prompt(team.project, "first", first, "begin")
        team.work("init")
        team.write("half.go", "package half\n")
    return run


def started(team: Team, client: Process, conversation: str = "second") -> str:
    """What the agent is told when another client begins."""
    tell(team.project, "SessionStart", conversation, client, source="startup")
    payload = {"hook_event_name": "SessionStart", "session_id": conversation, "source": "startup"}
    now = team.project.clock.now()
    call = Call("x", "claude", "SessionStart", now, "", 0, str(team.project.root), {}, client, payload)
    adapter = find_agent(call.agent)
    found = answer(team.project, Asking(call, adapter.read_call(call), adapter))
    notice = found.notice or ""
    assert notice in (found.text or "")
    return notice


@pytest.mark.defect("after a crash a new client made the Go Team run active, so that no way to recover could be chosen")
def test_a_new_client_leaves_an_interrupted_run_interrupted_and_offers_the_ways(team: Team, client: Process) -> None:
    run = crashed(team)
    told = started(team, client)
    assert run_of(team.project, run).status is Status.INTERRUPTED
    assert team.read("recovery.json", run)["interrupt_reason"] == "crash"
    for way in ("checkpoint", "live", "fresh"):
        assert f"- `*resume {way}`" in told
    tell(team.project, "SessionEnd", "second", client, reason="other")
    assert run_of(team.project, run).status is Status.INTERRUPTED


def test_the_first_prompt_that_reaches_the_model_goes_on_as_it_is(team: Team, client: Process) -> None:
    run = crashed(team)
    started(team, client)
    prompt(team.project, "second", client, "just go on")
    assert run_of(team.project, run).status is Status.ACTIVE
    holdfast.status(team.project)
    assert not (team.directory(run) / "recovery.json").exists()


def test_an_action_of_a_client_that_reports_no_prompts_goes_on_as_it_is(team: Team, client: Process) -> None:
    run = crashed(team)
    started(team, client)
    tell(team.project, "PostToolUse", "first", None, tool_name="Bash", tool_input={"command": "late"})
    assert run_of(team.project, run).status is Status.INTERRUPTED, "a late word of the client that died"
    tell(team.project, "PostToolUse", "second", client, tool_name="Bash", tool_input={"command": "ls"})
    assert run_of(team.project, run).status is Status.ACTIVE


@pytest.mark.defect("`*resume` in a client was refused because that client itself held the Go Team run")
@pytest.mark.parametrize(
    ("text", "way", "is_left"),
    [
        ("*resume", "live_state", True),
        ("*resume:1", "live_state", True),
        ("*resume checkpoint", "checkpoint", False),
        ("*resume:1 fresh", "fresh_start", True),
    ],
)
def test_resume_typed_into_a_client_carries_out_a_way_in_the_same_conversation(
    team: Team, client: Process, text: str, way: str, is_left: bool
) -> None:
    run = crashed(team)
    started(team, client)
    assert run in typed(team, "second", "*sessions")
    assert f"Recovered from: {way}" in typed(team, "second", text)
    assert run_of(team.project, run).status is Status.ACTIVE
    assert (team.project.root / "half.go").exists() is is_left
    prompt(team.project, "second", client, "and now this")
    assert [given.text for given in run_of(team.project, run).prompts][-1] == "and now this"
    (session,) = sessions(team.project, "second")
    assert (session.run, session.is_open) == (run, True)


@pytest.mark.parametrize("text", ["*continue", "*resume"])
def test_a_run_that_was_paused_in_a_client_goes_on_there(team: Team, client: Process, text: str) -> None:
    run = team.begin().id
    tell(team.project, "SessionStart", "first", client, source="startup")
    prompt(team.project, "first", client, "begin")
    typed(team, "first", "*pause")
    assert run_of(team.project, run).status is Status.PAUSED
    assert "✓ SESSION RESUMED" in typed(team, "first", text)
    assert run_of(team.project, run).status is Status.ACTIVE


def test_a_run_that_another_client_holds_is_not_taken_from_it(team: Team, client: Process) -> None:
    run = team.begin().id
    tell(team.project, "SessionStart", "first", client, source="startup")
    prompt(team.project, "first", client, "begin")
    with a_client() as other:
        prompt(team.project, "second", other, "something else")
        with pytest.raises(holdfast.Busy):
            typed(team, "second", f"*resume:{run}")


@pytest.mark.defect("`*new TOPIC` in a client began a Go Team session, and the conversation stayed on the old one")
def test_new_typed_into_a_client_takes_the_conversation_along(team: Team, client: Process) -> None:
    before = team.begin("one").id
    tell(team.project, "SessionStart", "first", client, source="startup")
    prompt(team.project, "first", client, "begin")
    assert "GO TEAM SESSION STARTED" in typed(team, "first", "*new two")
    prompt(team.project, "first", client, "chapter one")
    after = sessions(team.project, "first")[0].run
    assert after != before
    assert (run_of(team.project, after).goal, run_of(team.project, after).layout) == ("two", "go-team")
    assert [given.text for given in run_of(team.project, after).prompts] == ["chapter one"]
    assert [given.text for given in run_of(team.project, before).prompts] == ["begin"]
    holdfast.status(team.project)
    assert (team.entry(before)["status"], team.entry(after)["status"]) == ("paused", "active")
    resumable, _, others = typed(team, "first", "*sessions").partition("Other sessions:")
    assert (before in resumable, after in resumable, after in others) == (True, False, True)


def test_resume_of_another_run_takes_the_conversation_along(team: Team, client: Process) -> None:
    one = team.begin("one").id
    holdfast.pause(team.project)
    two = team.begin("two").id
    tell(team.project, "SessionStart", "first", client, source="startup")
    prompt(team.project, "first", client, "begin")
    assert sessions(team.project, "first")[0].run == two
    typed(team, "first", f"*resume:{one}")
    prompt(team.project, "first", client, "on with one")
    assert sessions(team.project, "first")[0].run == one
    assert [run_of(team.project, run).status for run in (one, two)] == [Status.ACTIVE, Status.PAUSED]


@pytest.mark.defect("`*resume:OTHER` on the command line left the run before it active beside the resumed one")
@pytest.mark.parametrize("layout", ["go-team", "native"])
def test_resume_of_another_run_on_the_command_line_pauses_the_one_before(project: Workspace, layout: str) -> None:
    one = holdfast.start(project, "one", layout=layout).run.id
    two = holdfast.start(project, "two", layout=layout).run.id
    holdfast.note(project, "at work", run=two)
    holdfast.command(project, f"*resume:{one}")
    assert [run_of(project, run).status for run in (one, two)] == [Status.ACTIVE, Status.PAUSED]
    with a_client() as client:
        holdfast.join(project, one, pid=client.pid)
        holdfast.command(project, f"*resume:{two}")
        assert [run_of(project, run).status for run in (one, two)] == [Status.ACTIVE, Status.ACTIVE]
