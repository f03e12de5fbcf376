"""What an agent says between its tool calls, which only its transcript has: recorded once, and redacted."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.agents.claude import transcript_events
from holdfast.core.model import Event
from holdfast.ingest import said
from holdfast.project.workspace import Workspace
from tests.tools import hook
from tests.transcripts import Transcript, folder

FOUND = "The lock is never released, so the second job waits."
Tell = Callable[..., None]


@pytest.fixture
def talk(project: Workspace) -> Transcript:
    """A prompt, a text, a tool and the answer; before them a whole turn."""
    made = Transcript(str(project.root))
    made.prompt("Look around")
    made.answer({"type": "text", "text": "Long ago."}, {"type": "tool_use", "id": "t0", "name": "Bash", "input": {}})
    made.say("Looked")
    made.prompt("Find the fault")
    made.answer({"type": "text", "text": FOUND}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}})
    made.result("t1")
    made.answer({"type": "text", "text": "of a subagent"}, isSidechain=True)
    made.say("Done.")
    return made


@pytest.fixture
def tell(project: Workspace, home: Path, talk: Transcript) -> Tell:
    """Call a hook of the conversation; its transcript is at its place, or at another one."""

    def call(event: str, path: Path | None = None, **fields: object) -> None:
        path = path or folder(home, project.root) / f"{talk.conversation}.jsonl"
        talk.write(path)
        about = {"session_id": talk.conversation, "cwd": str(project.root), "transcript_path": str(path)}
        hook(project.root, "claude", event, json.dumps({**about, "hook_event_name": event, **fields}).encode())

    return call


def events(project: Workspace) -> list[Event]:
    holdfast.sweep(project)
    (run,) = holdfast.runs(project).runs
    return holdfast.log(project, run=run.id).events


def texts(project: Workspace) -> list[str]:
    found = sorted(events(project), key=lambda event: event.seq)
    return [str(event.body["text"]) for event in found if event.kind in ("text.said", "turn.ended")]


def test_texts_of_a_turn_are_recorded_before_its_end_and_once(project: Workspace, tell: Tell) -> None:
    tell("UserPromptSubmit", prompt="Find the fault")
    tell("Stop", last_assistant_message="Done.")
    assert texts(project) == [FOUND, "Done."]
    tell("Stop", last_assistant_message="Done again.")
    assert texts(project) == [FOUND, "Done.", "Done again."]


def test_of_a_client_that_was_killed_the_texts_before_its_last_call_are_recorded(
    project: Workspace, tell: Tell
) -> None:
    tell("UserPromptSubmit", prompt="Find the fault")
    tell("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input={"command": "make"})
    assert texts(project) == [FOUND]


def test_answer_that_the_hook_tells_is_not_recorded_twice(project: Workspace, tell: Tell, talk: Transcript) -> None:
    talk.lines[-1]["message"]["stop_reason"] = None  # type: ignore[call-overload]
    tell("UserPromptSubmit", prompt="Find the fault")
    tell("Stop", last_assistant_message="Done.")
    assert texts(project) == [FOUND, "Done."]


def test_file_that_is_no_transcript_of_the_client_is_not_read(project: Workspace, tell: Tell, tmp_path: Path) -> None:
    """A payload can name any file."""
    tell("UserPromptSubmit", prompt="Find the fault")
    tell("Stop", path=tmp_path / "other.jsonl", last_assistant_message="Done.")
    assert texts(project) == ["Done."]


def test_secret_at_the_cut_of_a_long_text_leaves_no_half(
    project: Workspace, tell: Tell, talk: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(said, "LONGEST", 60)
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    for line in talk.lines:
        if FOUND in str(line):
            line["message"]["content"][0]["text"] = f"{'It is this one, which I found: '} {token} and more"  # type: ignore[call-overload]
    tell("UserPromptSubmit", prompt="Find the fault")
    tell("Stop", last_assistant_message="Done.")
    assert texts(project)[0].startswith("It is this one, which I found:  [redacted")
    assert token[:20] not in str(texts(project))


def test_import_and_hooks_record_a_text_once(project: Workspace, tell: Tell) -> None:
    tell("UserPromptSubmit", prompt="Find the fault")
    tell("Stop", last_assistant_message="Done.")
    before = texts(project)
    holdfast.import_claude(project)
    assert texts(project).count(FOUND) == before.count(FOUND) == 1


def test_texts_of_a_turn_are_few(talk: Transcript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_events, "MOST_SAID", 2)
    for number in range(5):
        use = {"type": "tool_use", "id": f"x{number}", "name": "Bash", "input": {}}
        talk.answer({"type": "text", "text": f"text {number}"}, use)
    found = transcript_events.read_said(talk.write(tmp_path / "c1.jsonl"), datetime.now(UTC))
    assert [draft.body["text"] for draft in found] == ["text 3", "text 4"]


def test_texts_of_an_older_turn_are_not_those_after_it(talk: Transcript, tmp_path: Path) -> None:
    path = talk.write(tmp_path / "c1.jsonl")
    until = datetime.fromisoformat(talk.lines[2]["timestamp"])  # type: ignore[call-overload]
    assert [draft.body["text"] for draft in transcript_events.read_said(path, until)] == ["Long ago."]
