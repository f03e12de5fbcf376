"""`holdfast resume` and the real Claude Code: it becomes the client, and the work goes on where it died."""

from __future__ import annotations

import pytest

from tests.agents.conftest import Gate, Project
from tests.agents.test_claude import bash
from tests.agents.test_claude_brief import kill_in_a_tool


def forget(project: Project) -> None:
    """What the client does with a conversation that has grown old."""
    for transcript in (project.home / ".claude" / "projects").glob("*/*.jsonl"):
        transcript.unlink()


def test_killed_conversation_goes_on_in_the_client_that_resume_became(project: Project, gate: Gate) -> None:
    killed = kill_in_a_tool(project, gate)
    (run,) = project.runs()
    before = len(project.model.turns)
    with project.resume() as claude:
        claude.wait_for(f"Going on with {run.id}")
        claude.wait_for(f"conversation {killed}")
        began = project.witness.wait_for("SessionStart(resume)")
        claude.type("go on @@say gone on")
        project.witness.wait_for("Stop")
        assert (began.session, began.pid) == (killed, claude.process.pid)
    asked = project.model.turns[before]
    before_it, news, told = asked.text.rpartition(f"# What is new in run {run.id} ")
    assert ("begin here" in before_it, bool(news)) == (True, True), "the conversation itself is still there"
    stopped = told.partition("Where it stopped")[2].partition("\n\n")[0]
    assert f"interrupted in: Bash: {gate.command}" in stopped
    (after,) = project.runs()
    assert (after.id, [prompt.text.split(" ")[0] for prompt in after.prompts]) == (run.id, ["begin", "go"])


def test_where_the_transcript_is_gone_a_new_conversation_begins_with_the_brief(project: Project, gate: Gate) -> None:
    killed = kill_in_a_tool(project, gate)
    forget(project)
    (run,) = project.runs()
    project.holdfast("start", "something else")
    before = len(project.model.turns)
    with project.resume(run.id, begins="startup") as claude:
        claude.wait_for(f"the transcript of conversation {killed} is gone")
        claude.type("go on @@say gone on")
        project.witness.wait_for("Stop")
    (asked,) = project.model.turns[before:]
    assert asked.told.startswith(f"# Where run {run.id} stands")
    assert f"interrupted in: Bash: {gate.command}" in asked.told
    newest, oldest = (session for session in project.sessions() if session.agent_session)
    assert (newest.run, oldest.run) == (run.id, run.id)
    assert newest.agent_session != oldest.agent_session == killed


@pytest.mark.parametrize("restore", ["both", pytest.param("code", marks=pytest.mark.long)])
def test_what_bash_made_comes_back_with_the_conversation_if_that_is_asked_for(project: Project, restore: str) -> None:
    first = project.claude("begin here " + bash("echo two > readme.txt; echo new > made.txt"))
    project.wait_until_quiet()
    (project.directory / "made.txt").unlink()
    (project.directory / "readme.txt").write_text("spoilt\n")
    begins = "resume" if restore == "both" else "startup"
    with project.resume("--restore", restore, "--yes", begins=begins) as claude:
        claude.wait_for("restored from cp-")
        claude.type("go on @@say gone on")
        project.witness.wait_for("Stop", 2)
    assert (project.directory / "made.txt").read_text() == "new\n"
    assert (project.directory / "readme.txt").read_text() == "two\n"
    assert (project.witness.seen[-1].session == first.session) == (restore == "both")
    project.holdfast("undo")
    assert (project.directory / "readme.txt").read_text() == "spoilt\n"


def test_what_was_restored_on_request_is_no_disagreement(project: Project) -> None:
    project.claude("begin here " + bash("echo two > readme.txt"))
    project.wait_until_quiet()
    (project.directory / "readme.txt").write_text("spoilt\n")
    project.holdfast("resume", "--restore", "code", "--yes")
    assert "do not agree" not in project.claude("go on @@say gone on").turns[0].told
