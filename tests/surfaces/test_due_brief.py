"""The brief with a prompt: after a command that was typed into the client, its model is told where the work stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.surfaces.hooks import due_brief
from holdfast.surfaces.hooks.record import DUE, mark_name
from tests.sessions import a_process, kill
from tests.tools import ENTRY, Command

PAYLOADS = Path(__file__).parents[1] / "payloads" / "claude"
ANSWERING = ["-I", "-m", "holdfast", "hook"]
KEEPING = ["-I", "-S", str(ENTRY)]
Cli = Callable[..., Command]


class Client:
    """A conversation in the recorded client, in a repository of its own."""

    def __init__(self, directory: Path, conversation: str = "ee2bf93f-ad66-4c83-8995-d27348007e7a") -> None:
        self.directory = directory
        self.conversation = conversation

    def call(self, name: str, **changes: Any) -> dict[str, Any] | None:
        """What the hook answers to a recorded call."""
        recorded = json.loads((PAYLOADS / f"{name}.json").read_text())
        payload = {**recorded["payload"], "cwd": str(self.directory), "session_id": self.conversation, **changes}
        payload.pop("transcript_path")
        program = KEEPING if recorded["event"] == "UserPromptSubmit" else ANSWERING
        done = subprocess.run(
            [sys.executable, *program, "claude", recorded["event"]],
            cwd=self.directory,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(self.directory), "CLAUDE_PID": str(os.getpid())},
            input=json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    def begin(self) -> None:
        self.call("SessionStart.startup")
        self.prompt("begin here")

    def type(self, command: str) -> str:
        """What the user is shown."""
        said = self.call("UserPromptSubmit", prompt=command)
        assert said is not None
        assert said["decision"] == "block"
        return str(said["reason"])

    def prompt(self, text: str = "go on") -> str | None:
        """What the model is told with a prompt."""
        said = self.call("UserPromptSubmit", prompt=text)
        if said is None:
            return None
        assert set(said) == {"hookSpecificOutput"}
        assert said["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
        return str(said["hookSpecificOutput"]["additionalContext"])

    @property
    def marks(self) -> list[Path]:
        directory = self.directory / ".git/holdfast" / DUE
        return sorted(directory.iterdir()) if directory.exists() else []


@pytest.fixture
def client(repository: Path) -> Client:
    return Client(repository)


def crashed(cli: Cli) -> str:
    """A Go Team run with one step, whose process was killed at work on the second one."""
    with a_process() as child:
        run = cli("start", "topic", "--layout", "go-team", "--pid", str(child.pid)).ok().out.split()[-1]
        cli("step", "complete", "init").ok()
        kill(child)
    cli("status").ok()
    return run


def given(repository: Path, run: str) -> int:
    with holdfast.open(repository) as workspace:
        return sum(event.kind == "brief.given" for event in holdfast.log(workspace, run=run).events)


@pytest.mark.defect("The model was never told what a command did that was typed into the client")
@pytest.mark.parametrize("command", ["*resume checkpoint", "*resume fresh", "*resume live", "*resume"])
def test_after_a_recovery_the_model_is_told_with_the_next_prompt(
    repository: Path, client: Client, cli: Cli, command: str
) -> None:
    run = crashed(cli)
    start = client.call("SessionStart.startup")
    assert start is not None
    assert "is not resumed yet" in start["hookSpecificOutput"]["additionalContext"]
    before = given(repository, run)
    client.type(command)
    told = client.prompt()
    assert told is not None
    assert told.startswith(f"The user typed `{command}` into the client")
    assert f"# Where run {run} stands" in told
    assert "Status: active" in told
    assert "is not resumed yet" not in told
    assert len(told) <= 10_000
    assert given(repository, run) == before + 1
    assert (client.prompt(), client.marks) == (None, []), "once is enough"


def test_after_going_over_to_another_run_the_model_is_told_of_that_one(client: Client, cli: Cli) -> None:
    first = cli("start", "First").ok().out.strip()
    client.begin()
    client.type("*new third")
    told = client.prompt("chapter one")
    assert told is not None
    second = cli("status", "--json").ok().json["run"]["id"]
    assert ("Goal: third" in told, f"# Where run {second} stands" in told) == (True, True)
    client.type(f"*resume:{first}")
    told = client.prompt()
    assert told is not None
    assert ("Goal: First" in told, f"# Where run {first} stands" in told) == (True, True)


def test_after_a_rollback_and_a_pause_the_model_is_told(repository: Path, client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    (repository / "a.txt").write_text("one\n")
    made = cli("checkpoint").ok().out.strip()
    client.begin()
    cli("note", "later").ok()
    client.type(f"*rollback:{made}")
    assert client.prompt() is None, "nothing was changed without a yes"
    client.type(f"*rollback:{made} yes")
    told = client.prompt()
    assert told is not None
    assert "later" not in told
    client.type("*pause")
    client.type("*continue")
    assert "typed `*continue`" in (client.prompt() or "")


def test_a_conversation_without_a_run_is_told_of_the_one_it_was_given(client: Client, cli: Cli) -> None:
    first, _ = (cli("start", goal).ok().out.strip() for goal in ("One thing", "Another thing"))
    cli("complete").ok()
    cli("start", "A third thing").ok()
    cli("complete").ok()
    client.call("SessionStart.startup")
    client.type(f"*resume:{first}")
    assert "Goal: One thing" in (client.prompt() or "")


@pytest.mark.parametrize(
    "command", ["*status", "*sessions", "*help", "*brief", "*checkpoints", "*resume:nobody", "*abort"]
)
def test_a_command_that_changes_nothing_of_it_costs_the_model_nothing(client: Client, cli: Cli, command: str) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type(command)
    assert (client.marks, client.prompt()) == ([], None)


def test_only_the_conversation_is_told_in_which_the_command_was_typed(
    repository: Path, client: Client, cli: Cli
) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type("*new second")
    other = Client(repository, "another")
    assert other.prompt("hello") is None
    assert [path.name for path in client.marks] == [mark_name(client.conversation.encode())]
    assert "Goal: second" in (client.prompt() or "")


def test_of_several_commands_the_last_one_is_named_and_none_of_them_gets_the_brief(client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type("*new second")
    client.type("*new third")
    client.type("*status")
    told = client.prompt("*emphasis* is no command")
    assert told is not None
    assert told.startswith("The user typed `*new third` into the client")


def test_of_a_row_of_commands_the_one_is_named_that_was_carried_out(client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type("*sessions*new second")
    assert (client.prompt() or "").startswith("The user typed `*new second` into the client")


def test_a_conversation_that_begins_again_is_told_once(client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type("*new second")
    assert client.call("SessionStart.compact") is not None
    assert (client.marks, client.prompt()) == ([], None)


def test_a_secret_in_a_command_is_hidden_in_its_mark(client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    client.begin()
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    client.type(f"*new use {token}")
    (path,) = client.marks
    assert token not in path.read_text()
    assert token not in (client.prompt() or "")


def test_while_the_store_is_held_the_prompt_waits_no_longer_than_an_answer_may(
    repository: Path, client: Client, cli: Cli
) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type("*new second")
    with holdfast.open(repository) as workspace, workspace.writing():
        begun = time.monotonic()
        told = client.prompt()
        assert time.monotonic() - begun < 9, "the deadline is 4.1 seconds; the rest is the machine"
    assert told is not None
    assert ("`holdfast brief` tells more." in told, "second" in told) == (True, True)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b""])
def test_a_mark_that_cannot_be_read_keeps_no_prompt_from_the_model(
    client: Client, cli: Cli, content: bytes | None
) -> None:
    cli("start", "First").ok()
    client.begin()
    client.type("*new second")
    (path,) = client.marks
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    told = client.prompt()
    assert told is None if content is None else "Goal: second" in (told or "")


def test_a_store_that_cannot_take_the_mark_still_answers_the_user(repository: Path, client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    client.begin()
    (repository / ".git/holdfast" / DUE).write_text("in the way")
    assert "Started" in client.type("*new second")
    assert client.prompt() is None


def test_marks_of_conversations_that_never_go_on_are_few(repository: Path, client: Client, cli: Cli) -> None:
    cli("start", "First").ok()
    client.begin()
    directory = repository / ".git/holdfast" / DUE
    directory.mkdir(mode=0o700)
    for number in range(due_brief.MOST + 5):
        path = directory / mark_name(b"%d" % number)
        path.write_text("*new x")
        os.utime(path, (number, number))
    client.type("*new second")
    assert len(client.marks) == due_brief.MOST
    assert directory / mark_name(client.conversation.encode()) in client.marks
    assert directory / mark_name(b"3") not in client.marks
