"""What a command costs before it does anything, and what the daily ones cost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import holdfast
from bench import calls
from bench.ground import command, ground, make_project, python
from bench.report import Report, ratio, times
from bench.timing import process, take_turns

EVENTS = 300


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    with ground() as directory:
        project = make_project(directory / "project")
        _work(project)
        with contextlib.chdir(project):
            found = take_turns(
                {
                    "bare": lambda: process(python("-c", "pass")),
                    "version": lambda: process(command("--version")),
                    "status": lambda: process(command("status")),
                    "note": lambda: process(command("note", "the server sheds load")),
                },
                20 if quick else 150,
            )
    base = found["bare"]
    return Report(
        [
            ratio("`holdfast --version` beside `python -c pass`", found["version"], base, 5),
            ratio("`holdfast status` beside `python -c pass`", found["status"], base, 10),
            ratio("`holdfast note` beside `python -c pass`", found["note"], base),
        ],
        [
            times("`python -c pass`", base),
            times("`holdfast --version`", found["version"]),
            times(f"`holdfast status`, a run of {EVENTS} events", found["status"]),
            times("`holdfast note`", found["note"]),
        ],
    )


def _work(project: Path) -> None:
    """A run of a few hundred events: mostly calls, and what a diligent agent writes down."""
    mix = calls.mix()
    with holdfast.open(project) as workspace:
        for number in range(EVENTS // 30):
            holdfast.decide(workspace, f"decision {number}", because="it was measured")
            holdfast.add_task(workspace, f"task {number}")
            holdfast.action(workspace, f"changed module {number}", files=(f"src/module_{number}.py",))
        with workspace.writing() as journal:
            run = journal.view.pointer(workspace.worktree) or ""
            journal.append(run, *(calls.as_draft(next(mix)) for _ in range(EVENTS - EVENTS // 10 - 1)))
