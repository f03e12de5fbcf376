"""The hook that answers: one JSON object or nothing, exit 0 whatever happens, and the call is kept before all else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.maintenance.background import run_pending
from tests.sessions import a_process, kill
from tests.tools import ENTRY, Command, hook

Ask = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ask(repository: Path) -> Ask:
    """Call the hook as the client does: `ask("SessionStart", source="startup")`."""

    def call(event: str, conversation: str = "c1", **payload: Any) -> subprocess.CompletedProcess[str]:
        body = {"hook_event_name": event, "session_id": conversation, "cwd": str(repository), **payload}
        env = {**os.environ, "CLAUDE_PROJECT_DIR": str(repository), "CLAUDE_PID": str(os.getpid())}
        command = [sys.executable, "-I", "-m", "holdfast", "hook", "claude", event]
        return subprocess.run(
            command, cwd=repository, env=env, input=json.dumps(body), capture_output=True, text=True, check=False
        )

    return call


def context(done: subprocess.CompletedProcess[str]) -> str:
    """What the client would give to the model."""
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["hookSpecificOutput"]
    assert found["hookEventName"] == "SessionStart"
    return str(found["additionalContext"])


def test_a_conversation_that_goes_on_is_told_where_it_stands(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    cli("start", "Fix the login bug")
    cli("decide", "Keep the old tokens", "--because", "people are logged in")
    text = context(ask("SessionStart", source="startup"))
    assert text.splitlines()[4] == "Goal: Fix the login bug [0m]"
    assert "Keep the old tokens (because people are logged in)" in text
    assert len(text) <= 10_000


def test_what_is_told_stays_within_what_the_client_takes(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    cli("start", "A long story")
    with holdfast.open(repository) as workspace:
        for number in range(300):
            holdfast.note(workspace, f"note number {number} " + "x" * 100)
    assert 9_000 < len(context(ask("SessionStart", source="resume"))) <= 10_000


def test_a_conversation_without_a_run_is_told_of_those_it_could_join(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    first, second = (cli("start", goal).out.strip() for goal in ("One thing", "Another thing"))
    cli("start", "What is done")
    cli("complete")
    text = context(ask("SessionStart", source="startup"))
    assert f"`holdfast join {first}`" in text
    assert f"`holdfast join {second}`" in text


def test_where_nothing_is_known_nothing_is_said(repository: Path, cli: Callable[..., Command], ask: Ask) -> None:
    assert (ask("SessionStart", source="startup").stdout, (repository / ".git/holdfast").exists()) == ("", False)
    cli("init")
    assert ask("SessionStart", source="startup").stdout == ""


def test_whoever_writes_the_summary_is_told_what_must_survive(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    cli("start", "Fix the login bug")
    ask("SessionStart", source="startup")
    (repository / "new").write_text("new")
    said = ask("PreCompact", trigger="auto", custom_instructions=None)
    assert (said.returncode, said.stdout.splitlines()[4]) == (0, "Goal: Fix the login bug [0m]")
    assert "before-compaction" in cli("checkpoints").out


@pytest.mark.defect(
    "`resume --from checkpoint` and `bisect` skipped the checkpoint made before a compaction, because its kind began "
    "with `before-`.",
    promise=9,
)
def test_a_checkpoint_made_before_a_compaction_can_be_resumed_from_and_bisected(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    (repository / "a.txt").write_text("good\n")
    cli("start", "Fix the login bug")
    cli("checkpoint")
    ask("SessionStart", source="startup")
    (repository / "a.txt").write_text("bad\n")
    ask("PreCompact", trigger="auto", custom_instructions=None)
    made = made_before_compaction(cli)
    assert cli("bisect", "--", "grep", "-q", "good", "a.txt").ok().out.strip() == made
    with holdfast.open(repository) as workspace:
        restored = holdfast.resume(workspace, start_from="checkpoint", dry_run=True).restored
    assert restored is not None
    assert restored.to == made


def made_before_compaction(cli: Callable[..., Command]) -> str:
    (found,) = [
        made["id"]
        for made in json.loads(cli("checkpoints", "--json").out)["checkpoints"]
        if made["kind"] == "before-compaction"
    ]
    return str(found)


@pytest.mark.promise(18)
def test_the_brief_is_told_where_no_checkpoint_can_be_made(
    repository: Path, cli: Callable[..., Command], ask: Ask, tmp_path: Path
) -> None:
    """Whoever compacted there was told nothing at all."""
    cli("start", "Fix the login bug")
    ask("SessionStart", source="startup")
    (repository / ".git/objects").rename(tmp_path / "objects")
    (repository / ".git/objects").symlink_to(tmp_path / "objects")
    said = ask("PreCompact", trigger="auto", custom_instructions=None)
    assert (said.returncode, said.stdout.splitlines()[4]) == (0, "Goal: Fix the login bug [0m]")
    assert "is a link, so none is written" in cli("status").out


@pytest.mark.promise(18)
@pytest.mark.parametrize("damage", ["database", "inbox", "off", "not json"])
def test_whatever_is_broken_the_agent_goes_on(
    repository: Path, cli: Callable[..., Command], ask: Ask, damage: str
) -> None:
    cli("start", "Fix it")
    place = repository / ".git/holdfast"
    if damage == "database":
        (place / "journal.db").write_bytes(b"not a database" * 1000)
        (place / "journal.db-wal").unlink(missing_ok=True)
    elif damage == "inbox":
        os.rename(place / "inbox", place / "elsewhere")
        (place / "inbox").write_text("a file")
    elif damage == "off":
        cli("off")
    done = ask("SessionStart", source="startup")
    if damage == "not json":
        done = subprocess.run(
            [sys.executable, "-I", "-m", "holdfast", "hook", "claude", "SessionStart"],
            cwd=repository, input="{", capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert damage == "not json" or done.stdout == ""


def test_a_turn_that_changed_files_becomes_one_checkpoint(repository: Path, cli: Callable[..., Command]) -> None:
    cli("start", "Fix it")
    with holdfast.open(repository) as workspace:
        (repository / "made-by-bash").write_text("x")
        assert run_pending(workspace) == 1
        assert run_pending(workspace) == 1
        found = [made for made in holdfast.checkpoints(workspace).checkpoints if made.kind == "turn"]
    assert [made.changed for made in found] == [["made-by-bash"]]


def test_a_conversation_that_goes_on_unchanged_is_not_told_the_same_again(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    cli("start", "Fix it")
    for source in ("startup", "resume", "resume"):
        last = context(ask("SessionStart", source=source))
    assert "nothing has changed since." in last
    cli("decide", "Use backoff")
    assert "Use backoff" in context(ask("SessionStart", source="resume"))
    assert "Use backoff" in context(ask("SessionStart", source="compact")), "whoever was compacted has forgotten it"


FINDING = "The cache in `prices.py` is never cleared, so yesterday's price is shown until noon."


def test_what_the_agent_found_out_is_told_to_the_next_conversation_and_not_again_to_its_own(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    cli("init", "--agent", "none")

    def turn(prompt: str, answer: str) -> None:
        for event, fields in (("UserPromptSubmit", {"prompt": prompt}), ("Stop", {"last_assistant_message": answer})):
            body = {"hook_event_name": event, "session_id": "c1", "cwd": str(repository), **fields}
            hook(repository, "claude", event, json.dumps(body).encode())

    turn("Why are the prices wrong?", f"I read it all. {FINDING}")
    for _ in range(5):
        turn("run all of the tests again", "Done.")
    ask("SessionEnd", "c1", reason="other")
    told = context(ask("SessionStart", "c2", source="startup"))
    assert f"- asked: (the goal above) [0m]\n  said: {FINDING}" in told
    ask("SessionEnd", "c2", reason="other")
    cli("task", "add", "Clear the cache")
    told = context(ask("SessionStart", "c1", source="resume"))
    assert ("Clear the cache" in told, FINDING in told, "prices wrong" in told) == (True, False, False)


SLOWLY = """
import sys
from holdfast.surfaces.hooks import handle_call as answer
answer.DEADLINE = 0.3
sys.exit(answer.main(["claude", sys.argv[1]]))
"""


def shortly(repository: Path, client: int) -> str:
    """What a new conversation is told while somebody holds the store."""
    done = subprocess.run(
        [sys.executable, "-c", SLOWLY, "SessionStart"],
        cwd=repository, env={**os.environ, "CLAUDE_PID": str(client)}, capture_output=True, text=True, check=False,
        input=json.dumps({"hook_event_name": "SessionStart", "session_id": "c2", "source": "startup"}),
    )  # fmt: skip
    return context(done)


@pytest.mark.parametrize("event", ["SessionStart", "PreCompact"])
def test_an_agent_is_not_kept_waiting_by_a_store_that_somebody_holds(
    repository: Path, cli: Callable[..., Command], ask: Ask, event: str
) -> None:
    """Another process is in the middle of a long write: a short answer goes out, and nothing of the call is lost."""
    cli("start", "Fix it")
    ask("SessionStart", source="startup")
    body = {"hook_event_name": event, "session_id": "c1", "source": "resume"}
    with holdfast.open(repository) as workspace, workspace.writing():
        done = subprocess.run(
            [sys.executable, "-c", SLOWLY, event],
            cwd=repository, input=json.dumps(body), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        text = context(done) if event == "SessionStart" else done.stdout
        assert "Goal: Fix it" in text
        assert "This is short. Holdfast is still taking in what happened: `holdfast brief` tells more." in text
        assert len(os.listdir(workspace.inbox)) == 1, "the call waits"


def test_a_short_answer_tells_also_what_nobody_has_written_down_yet(
    repository: Path, cli: Callable[..., Command], ask: Ask
) -> None:
    """Who died is found by looking; where nothing is known, the agent is told to ask again."""
    cli("init", "--agent", "none")
    with holdfast.open(repository) as workspace, a_process() as client, workspace.writing():
        assert shortly(repository, client.pid) == (
            "Holdfast is still taking in what happened: `holdfast brief` tells where the work stands."
        )
    with a_process() as client:
        cli("start", "Fix it", "--pid", str(client.pid))
        with holdfast.open(repository) as workspace, workspace.writing():
            kill(client)
            text = shortly(repository, os.getpid())
    assert f"the last session died: process {client.pid} is gone" in text
    assert "`holdfast brief` tells more." in text


def typed(repository: Path, prompt: str) -> dict[str, Any] | None:
    """What the hook of a prompt answers, called as the client does."""
    body = {"hook_event_name": "UserPromptSubmit", "session_id": "c1", "cwd": str(repository), "prompt": prompt}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRY), "claude", "UserPromptSubmit"],
        cwd=repository, input=json.dumps(body, separators=(",", ":")), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout) if done.stdout else None


def test_a_command_that_is_typed_into_the_client_is_answered_without_the_model(
    repository: Path, cli: Callable[..., Command]
) -> None:
    run = cli("start", "Fix it").out.strip()
    said = typed(repository, "*sessions")
    assert said is not None
    assert (said["decision"], run in said["reason"]) == ("block", True)
    shown = cli("show", "--json").json["run"]
    assert shown["prompts"] == [], "it was not meant for the model, so it is no prompt"


@pytest.mark.parametrize("prompt", ["*bold* words", "* a list", "*", "*sessions are great", "say *sessions", "*none"])
def test_what_only_looks_like_a_command_goes_to_the_model(
    repository: Path, cli: Callable[..., Command], prompt: str
) -> None:
    cli("start", "Fix it")
    assert typed(repository, prompt) is None
    assert [found["text"] for found in cli("show", "--json").json["run"]["prompts"]] == [prompt]


def test_a_command_that_cannot_be_carried_out_says_why(repository: Path, cli: Callable[..., Command]) -> None:
    cli("start", "Fix it")
    said = typed(repository, "*resume:nobody")
    assert said is not None
    assert "nobody" in said["reason"]


def test_a_command_does_not_become_the_goal_of_a_run(repository: Path, cli: Callable[..., Command]) -> None:
    cli("init", "--agent", "none")
    typed(repository, "*sessions")
    assert cli("runs", "--json").json["runs"] == []
    typed(repository, "Fix the login bug")
    assert [run["goal"] for run in cli("runs", "--json").json["runs"]] == ["Fix the login bug"]


def test_of_the_agents_environment_only_what_is_needed_is_kept(repository: Path, cli: Callable[..., Command]) -> None:
    """Claude Code hands its hooks a token with which one can speak for the user."""
    cli("start", "Fix it")
    secret = "A-SECRET-WORD"
    hook(
        repository, "claude", "PreToolUse",
        CLAUDECODE="1", CLAUDE_CODE_MESSAGING_TOKEN=secret, ANTHROPIC_API_KEY=secret,
    )  # fmt: skip
    (kept,) = (path.read_bytes() for path in (repository / ".git/holdfast/inbox").iterdir())
    assert b"env.CLAUDECODE=1" in kept
    assert b"A-SECRET-WORD" not in kept


def test_a_second_conversation_is_told_who_has_the_run(ask: Ask, repository: Path) -> None:
    """Host, process and since when. That it could be fenced is not proposed: it is healthy."""
    Command.run("init", directory=repository).ok()
    with a_process() as first:
        Command.run(
            "start", "begin here", "--layout", "orchestrator", "--pid", str(first.pid), directory=repository
        ).ok()
        told = context(ask("SessionStart", "c2", source="startup"))
        assert re.search(rf"begin here .*; process {first.pid} on \S+ since [0-9-]+ [0-9:]+ works on it", told), told
        assert "--take-over" not in told


def test_what_a_conversation_does_before_its_first_prompt_is_shown(
    repository: Path, cli: Callable[..., Command]
) -> None:
    cli("init", "--agent", "none")
    done = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"}}
    body = {"hook_event_name": "PostToolUse", "session_id": "c1", "cwd": str(repository), **done}
    hook(repository, "claude", "PostToolUse", json.dumps(body).encode())
    assert "Work of claude" in cli("status").out
    assert "Bash: make" in cli("log").out
    assert "claude" in cli("sessions").out
