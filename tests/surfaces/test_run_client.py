"""`holdfast run` with a program that behaves as an agent's client does: its hooks report the conversation's end, and
it catches a signal and exits with a code."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Run, Session, Status
from holdfast.system import files
from tests.surfaces.terminal import PATIENCE, Terminal
from tests.surfaces.test_run import SLOW, is_there, run_of, sessions_of, until
from tests.tools import ENTRY, Command

CLIENT = f"""
import json, os, signal, subprocess, sys, tty
environ = {{**os.environ, "CLAUDE_PID": str(os.getpid())}}

def call(event, *command, **told):
    told = {{"session_id": "talk", "hook_event_name": event, "cwd": os.getcwd(), **told}}
    command = [sys.executable, *(command or ("-I", "-m", "holdfast", "hook")), "claude", event]
    said = json.dumps(told, separators=(",", ":")).encode()
    subprocess.run(command, input=said, env=environ, stdout=subprocess.DEVNULL)

def prompt(text):
    call("UserPromptSubmit", "-I", "-S", {str(ENTRY)!r}, prompt=text)

def leave(code):
    call("SessionEnd", reason="other")
    os._exit(code)

for name in ("HUP", "INT", "TERM"):
    signal.signal(getattr(signal, "SIG" + name), lambda *_: leave(int(os.environ.get("CODE", "0"))))
call("SessionStart", source="startup")
prompt("begin here")
for text in filter(None, os.environ.get("PROMPTS", "").split("|")):
    prompt(text)
if os.isatty(0):
    tty.setraw(0)
os.write(1, b"listens:%d:\\r\\n" % os.getpid())
typed = b""
while not typed.endswith((b"\\x03\\x03", b"q")):
    try:
        typed += os.read(0, 1) or b"q"
        os.write(1, b"<%d>" % typed[-1])
    except OSError:  # its terminal is gone
        break
leave(int(os.environ.get("CODE", "0")))
"""


@contextmanager
def client(directory: Path, **environ: str) -> Iterator[Terminal]:
    command = ("run", "--", sys.executable, "-c", CLIENT)
    with Terminal(*command, directory=directory, env={**SLOW, **environ}) as terminal:
        terminal.wait_for("listens:")
        yield terminal


def begin(directory: Path, layout: str = "go-team") -> str:
    with holdfast.open(directory) as workspace:
        return holdfast.start(workspace, "topic", layout=layout).run.id


def reason(directory: Path, run: str) -> str | None:
    told = json.loads((directory / "checkpoints" / run / "recovery.json").read_text())["interrupt_reason"]
    return None if told is None else str(told)


def only_session(directory: Path) -> Session:
    (session,) = sessions_of(directory)
    return session


@pytest.mark.defect("The status of a run stayed active when `holdfast run -- claude` was ended by a signal", promise=14)
@pytest.mark.parametrize("layout", ["go-team", "native"])
@pytest.mark.parametrize(
    ("number", "code", "status", "how", "told"),
    [
        (signal.SIGHUP, 129, Status.INTERRUPTED, "died", "disconnect: its command was ended by SIGHUP"),
        (signal.SIGTERM, 143, Status.PAUSED, "stopped", "it was asked to end (SIGTERM)"),
        (signal.SIGINT, 0, Status.PAUSED, "stopped", "Ctrl-C (SIGINT)"),
    ],
)
def test_a_client_that_catches_a_signal_is_judged_by_the_signal(
    repository: Path, layout: str, number: signal.Signals, code: int, status: Status, how: str, told: str
) -> None:
    run = begin(repository, layout)
    with client(repository, CODE=str(code)) as terminal:
        terminal.process.send_signal(number)
        assert terminal.finish() == code
    found, session = run_of(repository), only_session(repository)
    assert (found.status, found.evidence or found.status_reason) == (status, told)
    assert (session.how, session.reason) == (how, f"ended by {number.name}")
    assert [met.text.endswith(f": exit code {code}") for met in found.errors] == [True] * bool(code)
    if layout == "go-team":
        assert reason(repository, run) == ("disconnect" if status is Status.INTERRUPTED else None)


def test_a_closed_window_is_a_disconnect_though_the_client_leaves_in_good_order(repository: Path) -> None:
    run = begin(repository)
    with client(repository) as terminal:
        terminal.close_window()
        terminal.process.wait(PATIENCE)
    found = run_of(repository)
    assert (found.status, reason(repository, run)) == (Status.INTERRUPTED, "disconnect")


def test_a_killed_supervisor_leaves_an_interrupted_run_though_the_client_leaves_in_good_order(repository: Path) -> None:
    run = begin(repository)
    with client(repository) as terminal:
        pid = int(terminal.text.partition("listens:")[2].partition(":")[0])
        terminal.process.kill()
        terminal.process.wait(PATIENCE)
        until(lambda: not is_there(pid), "the client is gone")
    Command.run("status", directory=repository).ok()
    assert (run_of(repository).status, reason(repository, run)) == (Status.INTERRUPTED, "crash")


@pytest.mark.parametrize("keys", ["\x03\x03", "\x1b[99;5u\x03\x03", "\x03\x03\x1b[?1;2c"])
def test_ctrl_c_that_ends_a_client_in_raw_mode_pauses(repository: Path, keys: str) -> None:
    begin(repository)
    with client(repository) as terminal:
        terminal.type(keys)
        assert terminal.finish() == 0
    assert (run_of(repository).status, only_session(repository).how) == (Status.PAUSED, "stopped")


def test_ctrl_c_that_only_ends_a_turn_does_not_pause(repository: Path) -> None:
    begin(repository)
    with client(repository) as terminal:
        terminal.type("\x03")
        terminal.wait_for("<3>")
        terminal.type("q")
        assert terminal.finish() == 0
    assert (run_of(repository).status, only_session(repository).how) == (Status.ACTIVE, "ended")


def test_a_second_signal_while_the_end_is_judged_changes_nothing(repository: Path) -> None:
    """A shell whose window is closed passes on the signal that the kernel has sent already."""
    begin(repository)
    with holdfast.open(repository) as workspace:
        taken = Path(workspace.worktree_place) / "team.lock"
    with client(repository, CODE="143") as terminal:
        pid = int(terminal.text.partition("listens:")[2].partition(":")[0])
        with files.lock(taken, 0):
            terminal.process.send_signal(signal.SIGTERM)
            until(lambda: not is_there(pid), "the client is gone")
            terminal.process.send_signal(signal.SIGHUP)
        assert terminal.finish() == 143
    assert run_of(repository).status is Status.PAUSED


def runs_of(directory: Path) -> list[Run]:
    with holdfast.open(directory) as workspace:
        return holdfast.runs(workspace).runs


@pytest.mark.defect(
    "In `holdfast run -- claude`, what followed a typed `*new` or `*resume:ID` was recorded on the run before",
    promise=12,
)
def test_a_supervised_conversation_goes_over_to_another_run_and_is_judged_there(repository: Path) -> None:
    begin(repository)
    with client(repository, CODE="143", PROMPTS="*new second|chapter one") as terminal:
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.finish() == 143
    second, first = runs_of(repository)
    assert [[prompt.text for prompt in run.prompts] for run in (second, first)] == [["chapter one"], ["begin here"]]
    assert (second.status, second.status_reason) == (Status.PAUSED, "it was asked to end (SIGTERM)")
    assert first.status is Status.PAUSED


@pytest.mark.defect("A conversation under `holdfast run` was never gone on with, and its model was not told the brief")
def test_the_conversation_of_a_supervised_client_is_known(repository: Path) -> None:
    begin(repository)
    with client(repository) as terminal:
        terminal.type("q")
        assert terminal.finish() == 0
    assert only_session(repository).agent_session == "talk"
    assert only_session(repository).brief is not None


def forwards(pid: int, number: signal.Signals) -> bool:
    """Whether the supervisor has begun to catch a signal."""
    (caught,) = re.findall(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.defect("Processes that outlived a command which SIGTERM had ended were not named")
def test_processes_that_a_stopped_command_left_are_named(repository: Path) -> None:
    script = "sleep 4321 >/dev/null 2>&1 & echo $! > left; wait"
    command = [sys.executable, "-m", "holdfast", "run", "--", "sh", "-c", script]
    with subprocess.Popen(command, cwd=repository, stdin=subprocess.DEVNULL) as supervisor:
        left = repository / "left"
        until(lambda: left.exists() and left.read_text().endswith("\n"), "it has begun")
        until(lambda: forwards(supervisor.pid, signal.SIGTERM), "it is supervised")
        supervisor.terminate()
        assert supervisor.wait(PATIENCE) == 143
    pid = int(left.read_text())
    try:
        told = f"Still running, started by {only_session(repository).id}: process {pid}  sleep 4321"
        assert told in Command.run("status", directory=repository).ok().out.splitlines()
    finally:
        subprocess.run(["kill", "-9", str(pid)], check=True)
