"""A place to measure in: a home nobody else has, projects in real repositories, stores filled to any size."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import holdfast
from bench import calls, installation
from holdfast.core import ids
from holdfast.core.model import Draft
from holdfast.project.workspace import Workspace

ENTRY = Path(holdfast.__file__).parent / "surfaces" / "hooks" / "entry.py"
FOREIGN = ("HOLDFAST", "GIT_", "XDG_", "CLAUDE", "PYTHON")  # what of our own environment must not be measured
EVENTS_OF_A_RUN = 1000
TRANSACTION = 10_000


@contextlib.contextmanager
def ground() -> Iterator[Path]:
    """A fresh directory; until the end, this process and its children live in a home of their own there."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as name:
        for variable in before:
            if variable.startswith(FOREIGN):
                del os.environ[variable]
        os.environ["HOME"] = os.path.join(name, "home")
        os.mkdir(os.environ["HOME"])
        try:
            yield Path(name)
        finally:
            os.environ.clear()
            os.environ.update(before)


def make_project(directory: Path) -> Path:
    """A repository with a store and one open run."""
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    with holdfast.open(directory) as workspace:
        holdfast.start(workspace, "Measure what things cost")
    return directory


def fill(directory: Path, events: int, say: Callable[[str], None]) -> None:
    """Add this many events, as an agent's work would: finished runs of a thousand calls each."""
    mix, chance = calls.mix(), random.Random(events)
    with holdfast.open(directory) as workspace:
        for first in range(0, events, TRANSACTION):
            _fill_some(workspace, min(TRANSACTION, events - first), mix, chance)
            if first + TRANSACTION < events and first % 100_000 == 0:
                say(f"filling a store: {first:,} of {events:,} events")


def _fill_some(workspace: Workspace, events: int, mix: Iterator[calls.Payload], chance: random.Random) -> None:
    with workspace.writing() as journal:
        for first in range(0, events, EVENTS_OF_A_RUN):
            goal = {"goal": calls.sentence(chance), "layout": "native", "worktree": workspace.worktree}
            run = journal.start(ids.make("run"), Draft("run.started", goal, time=workspace.clock.now())).id
            kept = [calls.as_draft(next(mix)) for _ in range(min(EVENTS_OF_A_RUN, events - first) - 2)]
            journal.append(run, *kept, Draft("run.completed"))


def fill_runs(directory: Path, runs: int) -> None:
    """Add this many runs of a few events, each with a word in its goal that no other has."""
    chance = random.Random(runs)
    with holdfast.open(directory) as workspace:
        for first in range(0, runs, TRANSACTION):
            with workspace.writing() as journal:
                for number in range(first, min(first + TRANSACTION, runs)):
                    goal = f"ticket{number}: {calls.sentence(chance)}"
                    body = {"goal": goal, "layout": "native", "worktree": workspace.worktree}
                    run = journal.start(ids.make("run"), Draft("run.started", body, time=workspace.clock.now())).id
                    prompt = Draft("prompt.given", {"text": calls.sentence(chance, 30)})
                    journal.append(run, prompt, Draft("run.completed"))


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def command(*arguments: str) -> list[str]:
    """The `holdfast` command as a user has it."""
    return [installation.program(), *arguments]


def hook(agent: str = "robot") -> list[str]:
    return python("-I", "-S", str(ENTRY), agent, "PostToolUse")
