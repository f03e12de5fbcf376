"""How full the context of the real Claude Code is, its status line, and its transcripts imported."""

from __future__ import annotations

import json
import os
import shutil

import holdfast
from holdfast.core.model import Run
from tests.agents.conftest import Project
from tests.agents.test_claude import bash
from tests.tools import Command

WROTE = 20  # tokens that the scripted model says it has written


def test_fill_after_a_turn_is_what_the_model_said(project: Project) -> None:
    project.claude("begin here @@usage 86000 @@say begun")
    (session,) = project.sessions()
    assert (session.context_tokens, session.context_window) == (86_000 + WROTE, 200_000)
    assert session.model
    assert f"context 43 % (86,{WROTE:03d} of 200,000 tokens)" in project.holdfast("status").out


def test_fill_after_a_compaction_is_what_is_left(project: Project) -> None:
    first = project.claude("begin here @@usage 86000 @@say begun")
    project.sessions()
    project.claude("/compact", "--resume", first.session)
    newest = project.sessions()[0]
    assert newest.context_tokens is not None
    assert 0 < newest.context_tokens < 20_000


def test_more_than_the_usual_window_means_the_large_one(project: Project) -> None:
    project.claude("begin here @@usage 300000 @@say begun")
    (session,) = project.sessions()
    assert (session.context_tokens, session.context_window) == (300_000 + WROTE, 1_000_000)


def test_status_line_is_drawn_and_tells_the_window(project: Project) -> None:
    Command.run("init", "--agent", "claude", "--status-line", directory=project.directory).ok()
    with project.interactive() as claude:
        claude.type("begin here @@usage 86000 @@say begun")
        project.witness.wait_for("Stop")
        claude.wait_for("begin here @@usage")
        claude.wait_for("context 9 %")
    with holdfast.open(project.directory) as workspace:
        known = json.loads((workspace.place / "context.json").read_bytes())
    assert [gauge["window"] for gauge in known.values()] == [1_000_000]


def imported(project: Project) -> Run:
    """What comes of the transcripts in a store that never heard a hook."""
    project.wait_until_quiet()
    shutil.rmtree(project.directory / ".git" / "holdfast")
    project.holdfast("import", "--claude")
    (run,) = project.runs()
    return run


def test_transcript_becomes_a_run(project: Project) -> None:
    first = project.claude(f"begin here {bash('echo two > readme.txt')} @@say begun")
    project.claude("go on @@say gone on", "--resume", first.session)
    run = imported(project)
    assert run.goal.startswith("begin here")
    assert len(run.prompts) == 2
    assert [action.text for action in run.actions] == ["Bash: echo two > readme.txt"]
    (session,) = project.sessions()
    assert (session.agent_session, session.context_tokens) == (first.session, 1000 + WROTE)
    assert session.cost
    assert session.tokens_written == 3 * WROTE


def test_fork_and_compaction_are_imported_once(project: Project) -> None:
    first = project.claude("begin here @@say begun")
    project.claude("go aside @@say gone", "--resume", first.session, "--fork-session")
    project.claude("/compact", "--resume", first.session)
    run = imported(project)
    assert [prompt.text.split(" @@")[0] for prompt in run.prompts] == ["begin here", "go aside"]
    assert run.compactions == 1
    before = run.seq
    project.holdfast("import", "--claude")
    (again,) = project.runs()
    assert again.seq == before


def test_import_after_recording_doubles_nothing(project: Project) -> None:
    project.claude(f"begin here {bash('echo two > readme.txt')} @@say begun")
    (before,) = project.runs()
    project.holdfast("import", "--claude")
    (after,) = project.runs()
    assert (len(after.prompts), len(after.actions)) == (len(before.prompts), len(before.actions)) == (1, 1)
    kinds = [event.kind for event in project.log(after.id)]
    assert (kinds.count("prompt.given"), kinds.count("action.taken")) == (1, 1)
    assert os.listdir(project.directory / ".git" / "holdfast" / "inbox") == []
