"""Promise 22: pipes, sockets, devices and directories where a file belongs. Nobody waits for them or reads them."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import holdfast
from holdfast.layouts.json_file import Unreadable, read_json
from tests.hostile.conftest import RUN
from tests.promises import Figure
from tests.surfaces.in_process import call
from tests.tools import Command

pytestmark = pytest.mark.promise(22)

CLEAR = {0, 1, 2, 10}  # done, refused, wrong usage, not found: answers, and not accidents
FABER = "a-run-1"


def make_socket(path: Path) -> None:
    """A name for a socket may have no more than a hundred bytes, so it is made from its own directory."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(before)


def make_chain(path: Path) -> None:
    """More links to links than a system follows, and than Python can."""
    links = path.parent / "links"
    links.mkdir()
    (links / "0").write_text("{}\n")
    for number in range(1, 1500):
        (links / f"{number}").symlink_to(f"{number - 1}")
    path.symlink_to("links/1499")


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": make_socket,
    "directory": Path.mkdir,
    "link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "link to a full device": lambda path: path.symlink_to("/dev/full"),
    "link to a terminal": lambda path: path.symlink_to("/dev/tty"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to thousands of links": make_chain,
}


class Case(NamedTuple):
    """Where something else than a file stands, and the commands that come across it."""

    place: str  # from the project, or from the home directory after `~/`
    commands: list[list[str]]
    is_named: bool = False  # by whoever typed the command, who then must be told


CASES = {
    "artifact": Case("a.md", [["brief"], ["brief", "--json"]]),
    "imported file": Case("in.holdfast", [["import", "in.holdfast"]], is_named=True),
    "imported transcript": Case("t.jsonl", [["import", "--claude", "t.jsonl"]], is_named=True),
    "found transcript": Case("~/.claude/projects/-x/t.jsonl", [["import", "--claude"]]),
    "backup": Case("b.tar.gz", [["restore-backup", "--yes", "b.tar.gz"], ["backup", "b.tar.gz"]], is_named=True),
    "export": Case("out.holdfast", [["export", RUN, "out.holdfast"]], is_named=True),
    "picture": Case("p.svg", [["report", "--svg", "p.svg"]]),
    "state file": Case(
        f".fractary/faber/runs/{FABER}/state.json",
        [["status"], ["session-load", "--run-id", FABER], ["session-save", "--run-id", FABER], ["repair", FABER]],
    ),
    "backup of a state": Case(f".fractary/faber/runs/{FABER}/state.json.backup", [["session-load", "--run-id", FABER]]),
    "active run": Case(".fractary/faber/runs/.active-run-id", [["status"], ["session-load"]]),
    "workflow": Case(".fractary/faber/workflows/default.json", [["session-load", "--run-id", FABER]]),
    "session file": Case(".claude/orchestrator-session.json", [["status"], ["start", "more", "--layout=orchestrator"]]),
    "registry of the team": Case("checkpoints/sessions.json", [["start", "more", "--layout=go-team"], ["status"]]),
    "project settings": Case(".holdfast.toml", [["status"], ["config"], ["trust"]]),
    "user settings": Case("~/.config/holdfast/config.toml", [["status"], ["config"]]),
    "agent settings": Case(".claude/settings.local.json", [["init", "--yes"], ["doctor"]]),
    "call that was kept": Case(".git/holdfast/inbox/00000000000000000001-2cc64b64-1-00000000", [["status"], ["sweep"]]),
    "environment file": Case(".env", [["note", "a note"], ["brief"]]),
    "git file": Case("sub/.git", [["status"]]),
    "file of the worktree": Case("docs/new.md", [["checkpoint"], ["diff"]]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_what_is_no_file_is_told_or_passed_over_and_nobody_waits(
    name: str, kind: str, target: Path, home: Path, begin: Callable[[], None], figure: Figure
) -> None:
    case = CASES[name]
    place = home / case.place[2:] if case.place.startswith("~/") else target / case.place
    if name == "artifact":
        (target / ".holdfast.toml").write_text('[brief]\nartifacts = ["a.md"]\n')
    place.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](place)
    for arguments in case.commands:
        begin()
        done = call(*arguments, directory=target)
        told = f"{arguments}: exit {done.code}\n{done.out[:500]}{done.err[:500]}"
        assert done.code in CLEAR, told
        assert "Traceback" not in done.out + done.err, told
        assert len(done.err) < 2000, told
        assert done.out or done.err, told
        assert not case.is_named or done.code or "Skipped" in done.err or "Nothing to import" in done.err, told
    figure("commands that met what is no file", len(case.commands))
    if name == "user settings":  # which no command can do without
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()


@pytest.mark.parametrize("event", ["SessionStart", "PreCompact", "SessionEnd", "StatusLine"])
@pytest.mark.parametrize("kind", ["pipe", "link to an endless device"])
def test_a_hook_returns_with_a_transcript_that_is_no_file(event: str, kind: str, target: Path, figure: Figure) -> None:
    transcript = target / "t.jsonl"
    KINDS[kind](transcript)
    payload = {"session_id": "s", "hook_event_name": event, "cwd": str(target), "transcript_path": str(transcript)}
    told = json.dumps({**payload, "source": "startup", "trigger": "auto", "reason": "other"}).encode()
    done = Command.run("hook", "claude", event, directory=target, stdin=told)
    assert (done.code, done.err) == (0, "")
    assert event in ("StatusLine", "PreCompact") or not done.out or json.loads(done.out)
    assert call("status", directory=target).ok()
    assert call("sweep", directory=target).ok()
    figure("hooks with a transcript that is no file", 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_face_that_is_no_file_is_unreadable_at_once(kind: str, tmp_path: Path, begin: Callable[[], None]) -> None:
    KINDS[kind](tmp_path / "state.json")
    begin()
    with pytest.raises(Unreadable):
        read_json(tmp_path / "state.json", root=tmp_path)


@pytest.mark.parametrize(
    "arguments", [["import", "in"], ["import", "--claude", "in"], ["restore-backup", "--yes", "in"]]
)
def test_a_real_command_is_not_kept_waiting_by_a_pipe(arguments: list[str], target: Path) -> None:
    os.mkfifo(target / "in")
    done = Command.run(*arguments, directory=target)
    assert done.code in CLEAR
    assert done.err.startswith("holdfast: ") or "Skipped" in done.err


def test_the_project_is_as_good_as_before(target: Path) -> None:
    with holdfast.open(target) as workspace:
        assert holdfast.show(workspace, RUN).run is not None
