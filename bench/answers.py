"""How long an agent waits for its brief: in a large worktree, with many calls that nobody has taken in yet."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import holdfast
from bench import calls
from bench.ground import ground, python
from bench.intake import keep
from bench.report import Report, milliseconds_at, times
from bench.repositories import make_repository, take_up
from bench.timing import Failed, Sample, process

FILES, WAITING = 20_000, 1_000
LIMIT = 600  # milliseconds at p95


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    rounds, files = (10, 2_000) if quick else (40, FILES)
    with ground() as directory:
        say(f"making a repository of {files:,} files")
        project = make_repository(directory / "project", files)
        take_up(project)
        found = Sample(tuple(_once(project, number) for number in range(rounds)))
    name = f"the brief of a session that begins, {files:,} files, {WAITING:,} waiting calls: milliseconds at p95"
    measured = milliseconds_at(0.95, name, found, LIMIT)
    return Report([measured], [times("the brief of a session that begins", found)])


def _once(project: Path, number: int) -> float:
    """One start of a conversation on the run, after an agent's long day; somebody has changed a file meanwhile."""
    day = itertools.islice(calls.mix(seed=number), WAITING)
    keep(project, [payload.data for payload in day], agent="claude")
    (project / "changed.txt").write_text(f"{number}\n")
    call = {"session_id": calls.SESSION, "hook_event_name": "SessionStart", "source": "compact", "cwd": str(project)}
    os.environ["CLAUDE_PROJECT_DIR"] = str(project)
    with contextlib.chdir(project):
        seconds = process(python("-I", "-m", "holdfast", "hook", "claude", "SessionStart"), json.dumps(call).encode())
    with holdfast.open(project) as workspace:
        run = holdfast.status(workspace).run
        if run is None or not run.prompts:
            raise Failed("the calls were not taken in")
    return seconds
