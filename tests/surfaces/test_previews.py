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

from tests.faber_states import ACTIVE, RUN, a_state, put, put_state
from tests.go_team_project import demonstration
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
        assert "there is no store here" in done.err, arguments
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
    assert "there is no store here" not in Command.run("status", directory=repository, env={"HOLDFAST": "0"}).err


def test_the_verb_that_goes_on_with_a_listed_session_works_too(repository: Path, say: Say) -> None:
    go_team(repository)
    assert "*resume" in say("command", "*sessions").ok().out
    assert "SESSION RESUMED" in say("command", f"*resume:{TEAM}").ok().out


ARCHIVED = "2025-12-27-abc123"


def archive(root: Path) -> None:
    """A session of the orchestrator that was archived before it was complete, and no current one."""
    put(root, f".claude/orchestrator-history/{ARCHIVED}.json", {**schema_1_0(), "session_id": ARCHIVED})


GOING_ON = {
    "FABER": (faber, ["resume", RUN], RUN),
    "FABER, not named": (faber, ["continue"], RUN),
    "Go Team": (go_team, ["resume", TEAM, "--from", "live"], TEAM),
    "Go Team, from anew": (go_team, ["resume", "--run", TEAM, "--from", "fresh"], TEAM),
    "Go Team, not named": (go_team, ["resume", "--yes"], TEAM),
    "orchestrator": (orchestrator, ["resume", SESSION], SESSION),
    "orchestrator, archived": (archive, ["resume", ARCHIVED], ARCHIVED),
    "orchestrator, archived, by a part": (archive, ["continue", "abc123"], ARCHIVED),
}


@pytest.mark.defect("without a store, `resume` of a run in another system's files said that there is no session")
@pytest.mark.parametrize("case", GOING_ON)
def test_a_run_in_another_systems_files_is_gone_on_with_without_a_store(case: str, repository: Path, say: Say) -> None:
    make, arguments, run = GOING_ON[case]
    make(repository)
    done = say(*arguments)
    assert "No session to resume" not in done.err
    assert "there is no store here" not in done.err
    assert (done.code, run in done.out + done.err) == (1 if case.startswith("FABER") else 0, True)
    found = say("status", "--json").ok().json
    assert (found["run"]["id"], found["run"]["status"]) == (run, "active")
    assert found["store"] is not None


@pytest.mark.parametrize("history_first", [False, True])
def test_an_archived_session_that_is_gone_on_with_is_the_current_one(
    history_first: bool, repository: Path, say: Say
) -> None:
    archive(repository)
    say("init", "--agent", "none").ok()
    if history_first:
        say("history").ok()
    say("resume", ARCHIVED).ok()
    current = json.loads((repository / ".claude/orchestrator-session.json").read_bytes())
    assert (current["session_id"], current["goal"]) == (ARCHIVED, schema_1_0()["goal"])
    assert list((repository / ".claude/orchestrator-history").iterdir()) == []


@pytest.mark.parametrize("arguments", [["resume", "gone"], ["continue", "gone", "--print"], ["resume", "1"]])
@pytest.mark.parametrize("system", SYSTEMS)
def test_for_a_run_that_is_not_there_no_store_is_made(
    system: str, arguments: list[str], repository: Path, home: Path, say: Say
) -> None:
    SYSTEMS[system][0](repository)
    before = whole(repository, home)
    done = say(*arguments)
    assert (done.code, f'There is no run "{arguments[1]}"' in done.err) == (10, True)
    assert whole(repository, home) == before


def test_what_has_ended_is_not_gone_on_with_unless_it_is_named(repository: Path, home: Path, say: Say) -> None:
    put_state(repository, status="completed")
    before = whole(repository, home)
    done = say("resume")
    assert (done.code, "No session to resume" in done.err) == (10, True)
    assert whole(repository, home) == before
    named = say("resume", RUN).err
    assert "A run that is completed cannot resume" in named
    assert "reopen" not in named  # which FABER's runs refuse


def test_of_several_runs_one_is_named_and_no_store_is_made_before(repository: Path, home: Path, say: Say) -> None:
    several(repository)
    before = whole(repository, home)
    done = say("resume")
    assert "Several runs are open here" in done.err
    assert whole(repository, home) == before
    done = say("resume", "other")
    assert (done.code, "Going on with other: " in done.out) == (1, True)


def test_a_project_that_is_switched_off_makes_no_store_for_a_resume(repository: Path) -> None:
    faber(repository)
    done = Command.run("resume", RUN, directory=repository, env={"HOLDFAST": "0"})
    assert (done.code, "No session to resume" in done.err) == (10, True)
    assert not (repository / ".git/holdfast").exists()


# Hints


def several(root: Path) -> None:
    """Two runs of FABER, and none of them active."""
    for run in (RUN, "other"):
        put(root, f".fractary/faber/runs/{run}/state.json", a_state(run_id=run))


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
    ["resume", "gone"],
    ["continue", "gone"],
]
COMMAND, TYPED = re.compile(r"`(holdfast [^`]+)`"), re.compile(r"`(\*[^`]+)`")
MAKE_A_STORE = ("init", "start", "checkpoint", "resume", "continue")


def nothing(root: Path) -> None:
    """A project without any files of other systems."""


@pytest.mark.defect("hints named commands that fail in a project without a store")
@pytest.mark.parametrize("system", [*SYSTEMS, "several", "archived", "nothing"])
def test_no_hint_names_a_command_that_fails_for_want_of_a_store(system: str, repository: Path, say: Say) -> None:
    more = {"several": several, "archived": archive, "nothing": nothing}
    make = SYSTEMS[system][0] if system in SYSTEMS else more[system]
    make(repository)
    hints, typed = set(), set()
    for arguments in [*FAILING, *READING, *([["resume"]] if system in ("several", "archived") else [])]:
        done = say(*arguments)
        hints |= set(COMMAND.findall(done.out + done.err))
        typed |= set(TYPED.findall(done.out + done.err))
    assert any("init" in hint for hint in hints)
    assert bool(typed) is (system != "nothing")
    for word in sorted(typed - {word for word in typed if word.startswith(("*resume", "*continue", "*new"))}):
        done = say("command", re.sub(r"\b(N|ID)\b", "1", word))
        assert "There is no Holdfast store" not in done.err, word
    for hint in sorted(hints):
        words = shlex.split(hint)[1:]
        if words[0] not in MAKE_A_STORE:
            done = say(*words)
            assert "There is no Holdfast store" not in done.err, hint
    assert not os.path.exists(repository / ".git/holdfast"), json.dumps(sorted(hints))
