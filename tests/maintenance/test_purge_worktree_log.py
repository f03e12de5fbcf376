"""What the ledgers of worktrees say of a run that is purged: the words of its conversation from before it had a run."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from holdfast.agents.claude.events import READERS
from holdfast.core.model import Draft
from holdfast.project.workspace import Workspace
from tests.canaries import hits
from tests.ingest.test_routing import a_client, prompt, tell
from tests.maintenance.test_purge import CANARY, terms

pytestmark = pytest.mark.promise(27)

SAID: dict[str, Any] = {
    "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": f"echo {CANARY}"}, "tool_response": CANARY,
    "error": CANARY, "last_assistant_message": f"{CANARY} " * 300, "agent_id": CANARY, "agent_type": CANARY,
    "task_subject": CANARY, "task_id": CANARY, "compact_summary": CANARY, "trigger": CANARY,
}  # fmt: skip


def test_what_a_conversation_said_before_it_had_a_run_goes_with_its_run(project: Workspace) -> None:
    """As after `holdfast init` in the middle of a conversation: nothing could remove these words."""
    with a_client() as client:
        for event in [*READERS, "SessionStart", "Notification"]:
            if event != "UserPromptSubmit":
                tell(project, event, "conversation-1", client, **SAID)
        tell(project, "Stop", "another", client, last_assistant_message="words of another")
        prompt(project, "conversation-1", client, f"do it {CANARY}")
    (run,) = holdfast.runs(project).runs
    assert hits(project.place, CANARY) != []
    holdfast.delete(project, run.id, purge=True)
    assert hits(project.place, CANARY) == []
    assert terms(project, CANARY) == []
    assert hits(project.place, "words of another") != [], "another conversation keeps what it said"
    assert hits(project.place, "conversation-1") == []
    assert holdfast.verify(project, deep=True).problems == []


def test_words_of_which_an_older_store_does_not_know_whose_they_are_go_with_a_purge(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    made = holdfast.checkpoint(project, run=holdfast.start(project, "another").run.id).checkpoint
    holdfast.pin(project, made.id)
    kept = {"agent": "claude", "event": "SessionStart", "call": {"session_id": "another", "cwd": "stays"}}
    with project.writing() as journal:
        journal.append(
            journal.ledger(project.worktree).id,
            Draft("action.taken", {"text": f"Bash: {CANARY}"}, agent="claude"),
            Draft("turn.ended", {"text": CANARY}, agent="claude"),
            Draft("call.kept", kept, agent="claude"),
        )
    holdfast.delete(project, run, purge=True)
    assert hits(project.place, CANARY) == []
    with project.reading() as journal:
        ledger = journal.ledger_of(project.worktree)
        assert ledger is not None
        assert [event.body for event in journal.events(ledger.id)][-1] == kept
        found = journal.find_checkpoint(made.id)
        assert found is not None
        assert found.pinned, "nothing of a checkpoint that stays is lost"
    assert holdfast.verify(project, deep=True).problems == []
