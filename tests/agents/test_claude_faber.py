"""FABER's hooks in the real client, as its documents meant them: a context survives compaction, exit and crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.conftest import Project
from tests.agents.test_claude import bash
from tests.faber_states import ACTIVE, RUN, RUNS, put, put_state
from tests.surfaces.test_faber_own_hooks import DOCUMENTS

SPEC = "The login must accept a passkey, and the answer is forty-two."


@pytest.fixture
def faber(project: Project) -> Project:
    """A project with an active FABER run that has a specification."""
    put_state(project.directory, artifacts={"spec_path": "specs/login.md"})
    put(project.directory, ACTIVE, RUN)
    (project.directory / "specs").mkdir()
    (project.directory / "specs/login.md").write_text(f"# Login\n\n{SPEC}\n")
    return project


def state_of(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.directory / RUNS / RUN / "state.json").read_text())
    return found


def records(project: Project) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = state_of(project)["sessions"]["session_history"]
    return history


def test_a_conversation_that_begins_is_told_the_artifacts_of_the_active_run(faber: Project) -> None:
    done = faber.claude("begin here @@say begun")
    assert f"Context reloaded for run: {RUN}" in done.turns[0].text
    assert SPEC in done.turns[0].text
    (record,) = records(faber)
    assert record["agent_session_id"] == done.session
    assert (record["end_reason"], record["agent_end_reason"]) == ("normal", "other")
    assert record["artifacts_loaded"] == ["workflow-state", "specification"]
    assert state_of(faber)["sessions"]["current_session_id"] is None


def test_the_context_survives_a_compaction_that_was_asked_for(faber: Project) -> None:
    with faber.interactive() as claude:
        claude.type("begin here @@say begun")
        faber.witness.wait_for("Stop")
        claude.type("/compact")
        faber.witness.wait_for("PostCompact(manual)")
        claude.type("go on @@say gone on")
        faber.witness.wait_for("Stop", 2)
        before, now = records(faber)
        assert (before["end_reason"], "ended_at" in now) == ("compaction", False)
        assert before["agent_session_id"] == now["agent_session_id"]
    assert SPEC in faber.model.turns[-1].text
    assert len(state_of(faber)["context_metadata"]["compaction_events"]) == 1


def test_the_context_survives_a_compaction_in_the_middle_of_a_turn(faber: Project) -> None:
    done = faber.claude(f"begin here @@usage 990000 {bash('echo two')}")
    assert SPEC in done.turns[-1].text
    assert [record["end_reason"] for record in records(faber)] == ["compaction", "normal"]


def test_a_session_that_was_killed_is_closed_as_interrupted_by_the_next(faber: Project) -> None:
    with faber.interactive() as claude:
        claude.type("begin here @@say begun")
        faber.witness.wait_for("Stop")
    faber.claude("go on @@say gone on")
    first, second = records(faber)
    assert (first["end_reason"], first["ended_at_inferred"], second["end_reason"]) == ("interrupted", True, "normal")
    assert state_of(faber)["sessions"]["total_sessions"] == 2


def test_hooks_of_the_documents_are_left_to_do_it_until_they_are_replaced(faber: Project) -> None:
    """The client gives their slash commands to a shell, which finds no such program."""
    put(faber.directory, ".claude/settings.json", DOCUMENTS)
    kept = faber.finish(faber.start("-p", "begin here @@say begun"))
    assert "/fractary-faber:session-end: not found" in kept.err
    assert "FABER's own hooks are active" in kept.turns[0].text
    assert "sessions" not in state_of(faber)
    faber.holdfast("init", "--faber-hooks", "replace")
    done = faber.claude("begin here @@say begun")
    assert SPEC in done.turns[0].text
    assert [record["end_reason"] for record in records(faber)] == ["normal"]


def test_the_journal_knows_the_run_and_who_worked_on_it(faber: Project) -> None:
    done = faber.claude("begin here @@say begun")
    (run,) = faber.runs()
    assert (run.id, run.layout, run.goal) == (RUN, "faber", "Add a login")
    assert [session.agent_session for session in faber.sessions()] == [done.session]
    kinds = [event.kind for event in faber.log(RUN)]
    assert kinds.count("context.loaded") == kinds.count("context.saved") == 1


def test_a_run_that_has_ended_says_nothing_in_later_conversations(faber: Project) -> None:
    put_state(faber.directory, status="completed")
    done = faber.claude("begin here @@say begun")
    assert RUN not in done.turns[0].text
    assert "sessions" not in state_of(faber)


def test_a_second_conversation_leaves_the_session_of_the_first_alone(faber: Project) -> None:
    with faber.interactive() as claude:
        claude.type("begin here @@say begun")
        faber.witness.wait_for("Stop")
        (before,) = records(faber)
        second = faber.claude("something else @@say done")
        assert f"{RUN} is active here, and another session" in second.turns[0].text
        assert records(faber) == [before]
