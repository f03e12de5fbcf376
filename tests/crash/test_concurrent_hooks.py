"""Many at once, and some who stand still: every call that a hook acknowledged is stored, and stored once.

The tier of every commit lets 64 hooks in at once; `-m long` lets in 256.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from tests.hook_calls import DOOR, kept_files, knock
from tests.promises import tell
from tests.sessions import events_of

PATIENCE = 300
BUDGET, TO_START = 5.0, 3.0  # seconds: no agent gives a hook less; and for two cores that have more to do
STAND_STILL = """
import os, signal, sys
import holdfast
from holdfast.core.model import Draft
with holdfast.open(sys.argv[1]) as project:
    with project.writing() as journal:
        journal.append(sys.argv[2], Draft("note.added", {"text": "from inside"}))
        os.kill(os.getpid(), signal.SIGSTOP)
"""


def let_in_at_once(directory: Path, scratch: Path, count: int) -> list[int]:
    """Start so many hooks behind a gate, open it, and answer with their exit codes."""
    gate = scratch / "gate"
    os.mkfifo(gate)
    keeper = os.open(gate, os.O_RDWR)
    waiting = []
    for number in range(count):
        (scratch / f"{number}.json").write_text(json.dumps({"n": number}))
        with open(scratch / f"{number}.json", "rb") as call:
            command = ["sh", "-c", 'read _ <"$0"; exec "$@"', str(gate), *DOOR, "robot", "Did"]
            waiting.append(subprocess.Popen(command, cwd=directory, stdin=call))
    os.write(keeper, b"\n" * count)
    codes = [process.wait(PATIENCE) for process in waiting]
    os.close(keeper)
    return codes


def numbers_taken_in(project: Workspace) -> list[int]:
    return sorted(event.body["call"]["n"] for event in events_of(project) if event.kind == "call.kept")


def crowd(project: Workspace, scratch: Path, count: int) -> None:
    tell("hooks at once", count)
    holdfast.start(project, "goal")
    assert let_in_at_once(project.root, scratch, count) == [0] * count
    assert len(kept_files(project.inbox)) == count
    holdfast.sweep(project)
    assert numbers_taken_in(project) == list(range(count))
    assert (kept_files(project.inbox), holdfast.status(project).troubles) == ([], [])


@pytest.mark.promise(12)
def test_64_hooks_at_once_are_all_kept_exactly_once(project: Workspace, tmp_path: Path) -> None:
    crowd(project, tmp_path, 64)


@pytest.mark.long
@pytest.mark.promise(12)
def test_256_hooks_at_once_are_all_kept_exactly_once(project: Workspace, tmp_path: Path) -> None:
    crowd(project, tmp_path, 256)


@contextmanager
def a_writer_that_stands_still(project: Workspace) -> Iterator[subprocess.Popen[bytes]]:
    """A process that was stopped inside its transaction, with the lock in its hands."""
    run = holdfast.start(project, "goal").run
    command = [sys.executable, "-c", STAND_STILL, str(project.root), run.id]
    with subprocess.Popen(command) as writer:
        os.waitpid(writer.pid, os.WUNTRACED)
        try:
            yield writer
        finally:
            writer.kill()


def ask(directory: Path, event: str) -> subprocess.CompletedProcess[str]:
    """Call a hook that answers, as Claude Code does, and give up on it when an agent would."""
    body = {"hook_event_name": event, "session_id": "c1", "cwd": str(directory), "source": "startup", "n": 1}
    return subprocess.run(
        [sys.executable, "-I", "-m", "holdfast", "hook", "claude", event],
        cwd=directory,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(directory), "CLAUDE_PID": str(os.getpid())},
        input=json.dumps(body),
        capture_output=True,
        text=True,
        timeout=10 * BUDGET,
        check=False,
    )


@pytest.mark.promise(12, 18)
@pytest.mark.parametrize("end", [signal.SIGCONT, signal.SIGKILL], ids=["continued", "killed"])
def test_nothing_is_lost_that_came_while_a_writer_stood_still(
    project: Workspace, tmp_path: Path, end: signal.Signals
) -> None:
    with a_writer_that_stands_still(project) as writer:
        assert let_in_at_once(project.root, tmp_path, 8) == [0] * 8
        assert len(kept_files(project.inbox)) == 8
        writer.send_signal(end)
        writer.wait(PATIENCE)
    holdfast.sweep(project)
    assert numbers_taken_in(project) == list(range(8))
    texts = [event.body.get("text") for event in events_of(project)]
    assert texts.count("from inside") == (1 if end is signal.SIGCONT else 0)


@pytest.mark.promise(12, 18)
def test_a_hook_that_answers_does_not_wait_for_a_writer_that_stands_still(repository: Path) -> None:
    """It has to read the journal and may want to write; the agent gets its turn all the same, and the call is kept."""
    with holdfast.open(repository) as project:  # by the clock of the hook, or the run would be too old to be joined
        with a_writer_that_stands_still(project):
            begun = time.monotonic()
            done = ask(project.root, "SessionStart")
            assert time.monotonic() - begun <= BUDGET + TO_START
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout == "" or json.loads(done.stdout)
            assert len(kept_files(project.inbox)) == 1
        holdfast.sweep(project)
        assert kept_files(project.inbox) == []
        assert [session.agent_session for session in holdfast.sessions(project).sessions] == ["c1"]
        assert holdfast.verify(project).problems == []


@pytest.mark.promise(1, 12)
def test_a_taking_in_that_stands_still_and_is_killed_doubles_nothing(project: Workspace) -> None:
    """Whoever takes in holds the same lock: the calls stay where they are until somebody commits them."""
    with a_writer_that_stands_still(project):
        for number in range(3):
            knock(project.root, b'{"n": %d}' % number)
        impatient = {**os.environ, "HOLDFAST_STORE_DEADLINE": "0.3"}
        sweep = [sys.executable, "-m", "holdfast", "sweep"]
        done = subprocess.run(sweep, cwd=project.root, env=impatient, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 11
        assert len(kept_files(project.inbox)) == 3
    holdfast.sweep(project)
    assert numbers_taken_in(project) == [0, 1, 2]
