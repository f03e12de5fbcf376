"""A supervised agent that is killed while it edits files: the run is interrupted, and no saved action is lost.

The tier of every commit tries a few moments; `-m long` tries fifty.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Status
from holdfast.core.recovery_options import options, recommended
from holdfast.project.workspace import Workspace
from tests.promises import tell

FEW, MANY = 10, 50
PATIENCE = 60
AGENT = """
import itertools, os, sys
import holdfast
with holdfast.open() as project:
    for number in itertools.count(int(sys.argv[1])):
        with open(f"file{number % 7}.go", "w") as file:
            file.write(f"package main // {number}\\n" * 50)
        holdfast.action(project, f"wrote {number}", files=(f"file{number % 7}.go",))
        print(number, os.getpid(), flush=True)
"""


def work_and_die(directory: Path, first: int, lines: int, work: int, *, kill_supervisor: bool) -> int:
    """Let an agent work until it has told so many actions and a little longer, then kill it.

    Answers with the last one that it told.
    """
    command = [sys.executable, "-m", "holdfast", "run", "--", sys.executable, "-c", AGENT, str(first)]
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told, pid = 0, 0
        for _ in range(lines):
            told, pid = map(int, child.stdout.readline().split())
        sum(range(work))
        if kill_supervisor:
            child.kill()
        else:
            subprocess.run(["kill", f"-{signal.SIGKILL.value}", str(pid)], check=True)
        rest = child.stdout.read().splitlines()  # ends when both are gone
        child.wait(PATIENCE)
    complete = [line for line in rest if line.count(" ") == 1 and line.endswith(f" {pid}")]
    return int(complete[-1].split()[0]) if complete else told


def kill_often(repository: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    with holdfast.open(repository) as project:
        run = holdfast.start(project, "topic", layout="go-team").run.id
    last = 0
    for number in range(times):
        work = chance.randrange(3_000_000)  # no longer than one action takes: any moment of it
        told = work_and_die(repository, last + 1, chance.randint(1, 4), work, kill_supervisor=number % 5 == 4)
        with holdfast.open(repository) as project:
            last = gone_on(project, run, told)
        tell("kills of a supervised agent", 1)
    tell("seed", seed)


def gone_on(project: Workspace, run: str, told: int) -> int:
    """The next command finds the run interrupted, and going on loses nothing. Answers with the last action."""
    found = holdfast.status(project).run
    assert found is not None
    assert (found.id, found.status) == (run, Status.INTERRUPTED)
    last = int(found.actions[-1].text.removeprefix("wrote "))
    assert last in (told, told + 1)  # the last one may have been saved and not told
    recovery = (project.root / "checkpoints" / run / "recovery.json").read_text()
    assert f'"action": "wrote {last}"' in recovery
    holdfast.resume(project, run, start_from=recommended(options(found)).start_from)
    texts = [event.body["text"] for event in holdfast.log(project, run=run).events if event.kind == "action.taken"]
    assert texts == [f"wrote {number}" for number in range(1, last + 1)]
    return last


@pytest.mark.promise(1)
def test_kills_of_a_supervised_agent_lose_no_action_that_was_saved(repository: Path) -> None:
    kill_often(repository, FEW, seed=7)


@pytest.mark.long
@pytest.mark.promise(1)
def test_fifty_kills_of_a_supervised_agent_lose_no_action_that_was_saved(repository: Path) -> None:
    kill_often(repository, MANY, seed=8)
