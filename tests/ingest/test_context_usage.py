"""How full the agent's context is: measured when calls are taken in, told by hand, shown, drawn in a status line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents.claude import status_line
from holdfast.core.errors import WrongUsage
from holdfast.core.fold import activity
from holdfast.core.model import Session
from holdfast.project import context_windows
from holdfast.project.workspace import Workspace
from tests.sessions import kinds_of, run_of
from tests.tools import Command, hook
from tests.transcripts import MODEL, Transcript

MEASURED = "context.measured"


class Client:
    """Claude Code, as far as its hooks and its transcript tell of it."""

    def __init__(self, project: Workspace, directory: Path, conversation: str = "c1") -> None:
        self.project = project
        self.told = Transcript(str(project.root), conversation)
        self.path = directory / f"{conversation}.jsonl"

    def call(self, event: str, **payload: Any) -> None:
        self.told.write(self.path)
        known = {"session_id": self.told.conversation, "transcript_path": str(self.path), "hook_event_name": event}
        call = json.dumps({**known, "cwd": str(self.project.root), **payload}).encode()
        hook(self.project.root, "claude", event, call, CLAUDE_PID=str(os.getpid()))

    def turn(self, prompt: str, tokens: int, **answer: Any) -> None:
        self.call("UserPromptSubmit", prompt=prompt)
        self.told.prompt(prompt)
        self.told.say("done", tokens=tokens, output=0, **answer)
        self.call("Stop", last_assistant_message="done")


@pytest.fixture
def client(project: Workspace, tmp_path: Path) -> Client:
    return Client(project, tmp_path)


def the_session(project: Workspace) -> Session:
    (session,) = holdfast.sessions(project, every=True).sessions
    return session


def test_a_turn_leaves_what_its_answer_says_of_the_context(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 86_000)
    session = the_session(project)
    assert (session.context_tokens, session.context_window, session.model) == (86_000, 200_000, MODEL)
    found = holdfast.budget(project)
    assert found.fill == activity.Fill(86_000, 200_000, 43, "healthy", activity.ADVICE["healthy"])
    assert (found.session, found.model) == (session.id, MODEL)


def test_what_is_measured_is_no_action_of_the_agent(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 86_000)
    assert the_session(project).last_action == "said: done"


def test_a_batch_measures_a_conversation_once(project: Workspace, client: Client) -> None:
    with project.writing(for_session=False):  # so that nobody takes in before all of it is there
        for number in range(3):
            client.turn(f"Fix {number}", 10_000 + number)
    assert kinds_of(project).count(MEASURED) == 1
    assert the_session(project).context_tokens == 10_002


def test_what_has_not_changed_is_not_told_again(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 86_000)
    holdfast.sweep(project)
    client.call("Stop", last_assistant_message="done")
    assert kinds_of(project).count(MEASURED) == 1


def test_conversations_of_one_batch_are_not_mixed_up(project: Workspace, client: Client, tmp_path: Path) -> None:
    other = Client(project, tmp_path, "c2")
    client.turn("Fix it", 86_000)
    other.turn("Write it", 12_000)
    found = {
        session.agent_session: session.context_tokens for session in holdfast.sessions(project, every=True).sessions
    }
    assert found == {"c1": 86_000, "c2": 12_000}


@pytest.mark.parametrize("path", ["/nowhere/c1.jsonl", "c1.jsonl", "/etc/passwd", "/dev/zero", "", 7])
def test_a_transcript_that_cannot_be_read_leaves_it_unknown(project: Workspace, client: Client, path: object) -> None:
    client.call("UserPromptSubmit", prompt="Fix it", transcript_path=path)
    client.call("Stop", last_assistant_message="done", transcript_path=path)
    assert the_session(project).context_tokens is None
    assert holdfast.budget(project).fill is None


def test_a_compaction_leaves_it_unknown_until_it_is_measured(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 190_000)
    holdfast.sweep(project)
    client.told.compact(left=None)
    client.call("PostCompact", trigger="manual", compact_summary="<summary>so far</summary>")
    assert run_of(project).context_tokens is None
    assert holdfast.budget(project).fill is None
    client.turn("Go on", 4_000)
    assert the_session(project).context_tokens == 4_000


def test_a_new_conversation_on_a_run_begins_with_nothing_known(
    project: Workspace, client: Client, tmp_path: Path
) -> None:
    client.turn("Fix it", 86_000)
    client.call("SessionEnd", reason="other")
    assert run_of(project).context_tokens == 86_000
    Client(project, tmp_path, "c2").call("SessionStart", source="startup")
    (run,) = holdfast.runs(project).runs
    assert (run.sessions, run.context_tokens) == (2, None)


def test_what_an_earlier_conversation_left_is_not_taken_for_that_of_the_next(
    project: Workspace, client: Client, tmp_path: Path
) -> None:
    client.turn("Fix it", 86_000)
    client.call("SessionEnd", reason="other")
    Client(project, tmp_path, "c2").call("SessionStart", source="startup")  # all in one batch
    (run,) = holdfast.runs(project).runs
    assert (run.sessions, run.context_tokens) == (2, None)


def test_a_window_that_was_large_once_stays_large(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 250_000)
    holdfast.sweep(project)
    client.told.compact(left=3_000)
    client.call("SessionEnd", reason="other")
    client.call("SessionStart", source="resume")
    assert {session.context_window for session in holdfast.sessions(project, every=True).sessions} == {1_000_000}


def test_the_window_is_what_the_status_line_was_told(project: Workspace, client: Client) -> None:
    status_line.line(project, a_drawing(size=500_000))
    client.turn("Fix it", 86_000)
    assert the_session(project).context_window == 500_000


def test_where_the_transcript_says_nothing_the_status_line_does(project: Workspace, client: Client) -> None:
    status_line.line(project, a_drawing(size=500_000, used=70_000))
    client.call("UserPromptSubmit", prompt="Fix it")
    client.call("Stop", last_assistant_message="done")
    assert the_session(project).context_tokens == 70_000


def test_the_window_that_is_set_always_wins(repository: Path, clock: Any, tmp_path: Path) -> None:
    environ = {**os.environ, "HOLDFAST_CONTEXT_WINDOW": "300000"}
    with holdfast.open(repository, clock=clock, environ=environ) as project:
        holdfast.init(project)
        status_line.line(project, a_drawing(size=500_000))
        Client(project, tmp_path).turn("Fix it", 86_000)
        assert the_session(project).context_window == 300_000


@pytest.mark.parametrize(
    ("tokens", "model", "known", "earlier", "window"),
    [
        (1, MODEL, None, None, 200_000),
        (1, "claude-opus-5-5[1m]", None, None, 1_000_000),
        (200_001, MODEL, None, None, 1_000_000),
        (1, MODEL, None, 1_000_000, 1_000_000),
        (1, MODEL, 200_000, 1_000_000, 200_000),
    ],
)
def test_the_window_is_as_large_as_can_be_known(
    tokens: int, model: str, known: int | None, earlier: int | None, window: int
) -> None:
    assert activity.window_of(tokens, model, known, earlier) == window


@pytest.mark.parametrize(
    ("percent", "state"),
    [(0, "healthy"), (49, "healthy"), (50, "filling"), (54, "filling"), (55, "warn"), (77, "warn"), (78, "compact"),
     (130, "compact")],
)  # fmt: skip
def test_advice_follows_from_how_full_it_is(percent: int, state: str) -> None:
    found = activity.fill_of(percent * 1_000, 100_000)
    assert found is not None
    assert (found.percent, found.state, found.advice) == (percent, state, activity.ADVICE[state])


def test_it_can_be_told_by_hand(project: Workspace) -> None:
    holdfast.start(project, "Fix it")
    assert holdfast.budget(project).fill is None
    found = holdfast.budget(project, used=64_000).fill
    assert found is not None
    assert (found.window, found.percent) == (128_000, 50)
    found = holdfast.budget(project, used=90_000, window=100_000).fill
    assert found is not None
    assert found.state == "compact"
    assert holdfast.log(project).events[-1].body == {"tokens": 90_000, "window": 100_000, "origin": "told"}


def test_telling_the_same_again_adds_nothing(project: Workspace) -> None:
    holdfast.start(project, "Fix it")
    for _ in range(2):
        holdfast.budget(project, used=64_000, window=100_000)
    assert kinds_of(project).count(MEASURED) == 1


@pytest.mark.parametrize(("used", "window"), [(None, 5), (-1, None), (10**12, None), (5, 0), (5, 10**12)])
def test_nonsense_is_refused(project: Workspace, used: int | None, window: int | None) -> None:
    holdfast.start(project, "Fix it")
    with pytest.raises(WrongUsage):
        holdfast.budget(project, used=used, window=window)


def test_a_compaction_can_be_told_by_hand(project: Workspace) -> None:
    holdfast.start(project, "Fix it")
    holdfast.budget(project, used=64_000, window=100_000)
    assert holdfast.compressed(project, summary="the plan").compactions == 1
    assert (run_of(project).summary, run_of(project).context_tokens) == ("the plan", None)


def test_status_and_show_say_it_in_a_line(project: Workspace, client: Client, cli: Callable[..., Command]) -> None:
    client.turn("Fix it", 86_000)
    assert "context 43 % (86,000 of 200,000 tokens)\n" in cli("status").ok().out
    shown = cli("show", the_session(project).id).ok().out
    assert f"model      {MODEL}\ncontext    43 % (86,000 of 200,000 tokens)\n" in shown


# The status line


def a_drawing(conversation: str = "c1", size: object = 200_000, used: int | None = None) -> dict[str, Any]:
    """What the client tells whoever draws its status line."""
    usage = None if used is None else {"input_tokens": used, "output_tokens": 0, "cache_read_input_tokens": 0}
    about = {"context_window_size": size, "current_usage": usage, "used_percentage": None}
    return {"session_id": conversation, "model": {"id": MODEL, "display_name": "Opus"}, "context_window": about}


def test_line_names_run_context_and_checkpoint(project: Workspace, client: Client) -> None:
    client.turn("Fix the login", 1_000)
    holdfast.checkpoint(project)
    line = status_line.line(project, a_drawing(used=86_000))
    assert line == "Fix the login · context 43 % · checkpoint just now"


def test_line_of_a_conversation_without_a_run_names_the_current_one(project: Workspace) -> None:
    assert status_line.line(project, a_drawing()) == "no run yet"
    holdfast.start(project, "Fix it")
    assert status_line.line(project, a_drawing("another")) == "Fix it"


def test_line_takes_nothing_in_and_keeps_no_call(project: Workspace, client: Client) -> None:
    client.call("UserPromptSubmit", prompt="Fix it")
    waiting = os.listdir(project.inbox)
    status_line.line(project, a_drawing(used=5))
    assert os.listdir(project.inbox) == waiting


def test_what_it_is_told_is_written_only_when_it_changes(project: Workspace) -> None:
    status_line.line(project, a_drawing(used=5))
    before = os.stat(project.place / context_windows.NAME)
    status_line.line(project, a_drawing(used=5))
    assert os.stat(project.place / context_windows.NAME).st_ino == before.st_ino
    assert before.st_mode & 0o777 == 0o600


def test_only_the_last_conversations_are_remembered(project: Workspace) -> None:
    for number in range(30):
        status_line.line(project, a_drawing(f"c{number}", used=5))
    known = json.loads((project.place / context_windows.NAME).read_bytes())
    assert list(known) == [f"c{number}" for number in range(10, 30)]


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"c1": 7}', b'{"c1": {"window": "x"}}', b"[" * 5000])
def test_a_damaged_memory_is_none(project: Workspace, content: bytes) -> None:
    (project.place / context_windows.NAME).write_bytes(content)
    assert context_windows.find(project.place, "c1") == context_windows.Gauge()
    status_line.line(project, a_drawing(used=5))
    assert context_windows.find(project.place, "c1").tokens == 5


@pytest.mark.parametrize(
    "told",
    [b"", b"nonsense", b"[]", b"{}", b'{"context_window": 7, "model": [], "session_id": {}, "workspace": "x"}',
     b'{"context_window": {"context_window_size": -1, "current_usage": {"input_tokens": "x"}}}', b"[" * 100_000],
)  # fmt: skip
def test_program_draws_one_line_whatever_it_is_told(repository: Path, cli: Callable[..., Command], told: bytes) -> None:
    cli("start", "Fix it").ok()
    drawn = cli("hook", "claude", "StatusLine", stdin=told).ok()
    assert (drawn.out, drawn.err) == ("Fix it\n", "")
    assert "could not keep" not in cli("status").out


def test_program_draws_what_it_can_where_there_is_no_store_or_it_is_damaged(
    repository: Path, cli: Callable[..., Command]
) -> None:
    told = json.dumps(a_drawing(used=86_000)).encode()
    assert cli("hook", "claude", "StatusLine", stdin=told).ok().out == "context 43 %\n"
    assert not (repository / ".git" / "holdfast").exists()
    cli("start", "Fix it").ok()
    for name in ("journal.db", "journal.db-wal"):
        if (repository / ".git" / "holdfast" / name).exists():
            (repository / ".git" / "holdfast" / name).write_bytes(b"nonsense" * 1000)
    assert cli("hook", "claude", "StatusLine", stdin=told).ok().out == "context 43 %\n"


def test_line_says_that_recording_is_off(project: Workspace) -> None:
    holdfast.off(project)
    assert status_line.line(project, a_drawing(used=86_000)) == "holdfast is off · context 43 %"
    holdfast.on(project)


def test_line_is_one_harmless_line_whatever_the_goal_is(project: Workspace) -> None:
    holdfast.start(project, "red \x1b[31m and\nmore \u202e " + "x" * 100)
    line = status_line.line(project, a_drawing())
    assert "\x1b" not in line
    assert "\n" not in line
    assert len(line) <= status_line.TITLE
