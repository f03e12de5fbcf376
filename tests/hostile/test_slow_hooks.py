"""Promise 18: a hook does not wait for what holds it up, and takes little memory, whatever the agent has written."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.promises import Figure
from tests.surfaces.in_process import call

pytestmark = pytest.mark.promise(18)

MOST_MEMORY = 64 * 1024  # kilobytes
DEADLINE, TO_START = 5.0, 3.0  # seconds: the hook's own, and for two cores that have more to do
EVENTS = ["SessionStart", "PreCompact", "SessionEnd", "StatusLine", "UserPromptSubmit", "Stop"]
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdin=open("payload"), stdout=open("told", "w")).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


HOLD = """
import os, signal, sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.pragma("locking_mode", "exclusive")
connection.execute("BEGIN IMMEDIATE; UPDATE about SET value = value")
os.kill(os.getpid(), signal.SIGSTOP)
"""


def payload(directory: Path, event: str, transcript: Path) -> bytes:
    told = {"session_id": "s", "hook_event_name": event, "cwd": str(directory), "transcript_path": str(transcript)}
    return json.dumps({**told, "source": "resume", "trigger": "auto", "reason": "other", "prompt": "go on"}).encode()


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A conversation of 100 MB."""
    line = {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": "x" * 8000}}
    block = (json.dumps(line) + "\n").encode() * 128
    path = tmp_path / "t.jsonl"
    with open(path, "wb") as file:
        for _ in range(100 * 1024 * 1024 // len(block) + 1):
            file.write(block)
    return path


def test_a_hook_takes_little_memory_whatever_the_length_of_the_conversation(
    target: Path, transcript: Path, tmp_path: Path, figure: Figure
) -> None:
    assert transcript.stat().st_size >= 100 * 1024 * 1024
    for event in EVENTS:
        (tmp_path / "payload").write_bytes(payload(target, event, transcript))
        script = (
            f"import os; os.chdir({str(target)!r}); import runpy; runpy.run_module('holdfast', run_name='__main__')"
        )
        command = [sys.executable, "-c", MEASURED, sys.executable, "-c", script, "hook", "claude", event]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
        code, kilobytes = map(int, done.stdout.split())
        assert code == 0
        assert kilobytes <= MOST_MEMORY, f"{event}: {kilobytes} KB"
        figure("hooks with 100 MB of conversation", 1)
    assert call("status", directory=target).ok()


@contextlib.contextmanager
def hanging_git(directory: Path) -> Iterator[str]:
    """A PATH on which git never ends. Whoever still hangs at the end is let go."""
    directory.mkdir()
    (directory / "git").write_text(f"#!/bin/sh\necho $$ >> {directory}/pids\nexec sleep 300\n")
    (directory / "git").chmod(0o755)
    try:
        yield f"{directory}:{os.environ['PATH']}"
    finally:
        listed = directory / "pids"
        for pid in listed.read_text().split() if listed.exists() else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("event", ["SessionStart", "PreCompact", "SessionEnd", "StatusLine"])
def test_an_answering_hook_keeps_its_deadline_where_git_hangs(
    event: str, target: Path, tmp_path: Path, figure: Figure
) -> None:
    told = payload(target, event, tmp_path / "none.jsonl")
    with hanging_git(tmp_path / "programs") as path:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", "hook", "claude", event],
            cwd=target,
            env={**os.environ, "PATH": path},
            input=told,
            capture_output=True,
            timeout=60,
            check=False,
        )
        took = time.monotonic() - begun
    assert (done.returncode, done.stderr) == (0, b"")
    assert took <= DEADLINE + TO_START
    figure("hooks beside a git that hangs", 1)


@contextlib.contextmanager
def a_stopped_owner(target: Path) -> Iterator[None]:
    """A process that has the database for itself, so that nobody can even read it, and stands still."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(target / ".git/holdfast/journal.db")]) as owner:
        os.waitpid(owner.pid, os.WUNTRACED)
        try:
            yield
        finally:
            owner.kill()


def start(target: Path, event: str, told: bytes | None) -> subprocess.Popen[bytes]:
    """A hook that was told something, or was told nothing and whose input nobody closes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "hook", "claude", event],
        cwd=target,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    if told is not None:
        process.stdin.write(told)
        process.stdin.close()
    return process


HELD_UP = ["SessionStart", "PreCompact", "StatusLine", "UserPromptSubmit", "Stop"]


def test_a_hook_keeps_its_deadline_where_somebody_stopped_has_the_database_for_himself(
    target: Path, tmp_path: Path, figure: Figure
) -> None:
    """The status line had none, and the others together with what they said in a hurry were over it."""
    calls = {event: json.loads(payload(target, event, tmp_path / "none.jsonl")) for event in HELD_UP}
    calls["UserPromptSubmit"]["prompt"] = "*sessions"
    with a_stopped_owner(target):
        begun = time.monotonic()
        told = {event: json.dumps(call, separators=(",", ":")).encode() for event, call in calls.items()}
        started = [(event, start(target, event, told[event])) for event in HELD_UP]
        started.append(("StatusLine", start(target, "StatusLine", None)))
        codes = [process.wait(60) for _, process in started]
        took = time.monotonic() - begun
    assert codes == [0] * len(started)
    assert took <= DEADLINE + TO_START
    for event, process in started:
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stderr.read() == b""
            out = process.stdout.read()
            assert event in ("StatusLine", "PreCompact") or not out or json.loads(out)
    figure("hooks beside a stopped owner of the database", len(started))
