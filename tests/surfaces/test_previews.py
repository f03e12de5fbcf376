"""Reading verbs in a project without a store: they show another system's runs, and write nothing anywhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faber_states import ACTIVE, RUN, put, put_state
from tests.operations.teams import demonstration
from tests.orchestrator_files import schema_1_0
from tests.tools import Command

Say = Callable[..., Command]
SESSION, TEAM = "2025-12-27-abc123", "test-session-001"


def faber(root: Path) -> None:
    put(root, ACTIVE, RUN)
    put_state(root)


def orchestrator(root: Path) -> None:
    put(root, ".claude/orchestrator-session.json", schema_1_0())
    ended = {**schema_1_0(), "session_id": "2025-12-20-old123", "status": "complete"}
    put(root, ".claude/orchestrator-history/2025-12-20-old123.json", ended)


def go_team(root: Path) -> None:
    (root / "checkpoints").mkdir()
    demonstration(root / "checkpoints")


SYSTEMS = {"FABER": (faber, RUN), "orchestrator": (orchestrator, SESSION), "Go Team": (go_team, TEAM)}
READING = [
    ["runs"],
    ["runs", "--status", "open"],
    ["status"],
    ["show"],
    ["show", "--markdown"],
    ["log"],
    ["log", "-n", "1"],
    ["sessions"],
    ["history"],
    ["brief"],
    ["budget"],
    ["search", "the"],
    ["checkpoints"],
    ["task", "list"],
    ["step", "list"],
    ["agent", "list"],
    ["command", "*sessions"],
    ["command", "*status"],
    ["command", "*session-info"],
    ["command", "*checkpoints"],
]


def whole(*directories: Path) -> dict[str, bytes | None]:
    """Every file and directory with its content: nothing may be added, changed or removed."""
    found: dict[str, bytes | None] = {}
    for directory in directories:
        for path in sorted(directory.rglob("*")):
            found[str(path)] = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    return found


@pytest.mark.defect("reading verbs failed without a store, although another system's runs were there")
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_reading_verb_works_on_another_systems_files_and_writes_nothing(
    system: str, repository: Path, home: Path, tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, run = SYSTEMS[system]
    make(repository)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before = whole(repository, home, scratch)
    for arguments in READING:
        done = say(*arguments).ok()
        assert "no store is here yet" in done.err, arguments
        assert whole(repository, home, scratch) == before, arguments
    assert run in say("runs").out
    assert say("show", run, "--json").json["run"]["id"] == run
    told = say("status", "--json").json
    assert (told["store"], told["run"]["id"]) == (None, run)


def test_a_session_in_the_orchestrators_history_is_listed(repository: Path, say: Say) -> None:
    orchestrator(repository)
    assert [run["id"] for run in say("history", "--json").ok().json["runs"]] == ["2025-12-20-old123"]


def test_a_linked_worktree_shows_its_own_files_and_writes_nothing(repository: Path, tmp_path: Path) -> None:
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    linked = tmp_path / "linked"
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)
    faber(linked)
    before = whole(repository, linked)
    assert RUN in Command.run("runs", directory=linked).ok().out
    assert Command.run("runs", directory=repository).code == 10
    assert whole(repository, linked) == before


def test_files_that_cannot_be_read_are_told_and_left(repository: Path, say: Say) -> None:
    put(repository, ACTIVE, RUN)
    path = put(repository, f".fractary/faber/runs/{RUN}/state.json", "{")
    assert "cannot be read: Invalid JSON" in say("status").ok().err
    put(repository, ".claude/orchestrator-session.json", "{")
    assert "orchestrator-session.json cannot be read" in say("runs").ok().err
    assert path.read_text() == "{"


def test_a_project_that_is_switched_off_shows_no_preview(repository: Path) -> None:
    faber(repository)
    assert "no store is here yet" not in Command.run("status", directory=repository, env={"HOLDFAST": "0"}).err


def test_the_verb_that_goes_on_with_a_listed_session_works_too(repository: Path, say: Say) -> None:
    go_team(repository)
    assert "*resume" in say("command", "*sessions").ok().out
    assert "SESSION RESUMED" in say("command", f"*resume:{TEAM}").ok().out


# Hints

FAILING = [
    ["session-load", "--run-id", "gone"],
    ["session-load", "--run-id", "../up"],
    ["session-load"],
    ["session-save", "--run-id", "gone"],
    ["session-save"],
    ["show", "gone"],
    ["runs"],
    ["sessions"],
    ["checkpoints"],
    ["repair", "gone"],
    ["brief", "--run", "gone"],
    ["decide", "something"],
    ["command", "*session-info:gone"],
]
COMMAND = re.compile(r"`(holdfast [^`]+)`")
MAKE_A_STORE = ("init", "start", "checkpoint")


def nothing(root: Path) -> None:
    """A project without any files of other systems."""


@pytest.mark.defect("hints named commands that fail in a project without a store")
@pytest.mark.parametrize("system", [*SYSTEMS, "nothing"])
def test_no_hint_names_a_command_that_fails_for_want_of_a_store(system: str, repository: Path, say: Say) -> None:
    make = SYSTEMS[system][0] if system in SYSTEMS else nothing
    make(repository)
    hints = set()
    for arguments in FAILING:
        done = say(*arguments)
        hints |= set(COMMAND.findall(done.out + done.err))
    assert any("init" in hint for hint in hints)
    for hint in sorted(hints):
        words = shlex.split(hint)[1:]
        if words[0] not in MAKE_A_STORE:
            done = say(*words)
            assert "There is no Holdfast store" not in done.err, hint
    assert not os.path.exists(repository / ".git/holdfast"), json.dumps(sorted(hints))
