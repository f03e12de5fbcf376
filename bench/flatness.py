"""Whether listing and loading stay as quick as they were in an empty store, however much was recorded since.

Taking in is measured by `intake.py`, and lists of very many runs by `growth.py` and `lists.py`. Here a run of a
thousand events is looked at: once in a store that holds nothing else, once beside a million events of others; and once
more as a run that has very many itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import holdfast
from bench import calls
from bench.ground import EVENTS_OF_A_RUN, fill, ground, make_project
from bench.report import Report, ratio, times
from bench.timing import Subject, take_turns, timed
from holdfast.project.workspace import Workspace

LIMIT = 1.3
LOOKS: dict[str, Callable[[Workspace], object]] = {
    "listing the newest run": partial(holdfast.runs, limit=1),
    "listing the newest events": partial(holdfast.log, newest=20),
    "loading a run": holdfast.show,
    "loading a run as it was": partial(holdfast.show, at="500"),
    "loading where we are": holdfast.status,
    "loading the brief": holdfast.brief,
}


def measure(quick: bool, say: Callable[[str], None], *, full: bool = False) -> Report:
    others = 1_000_000 if full else 20_000 if quick else 100_000
    with ground() as directory:
        places = {
            "an empty store": _project(directory / "empty", 0, EVENTS_OF_A_RUN, say),
            f"{others:,} events of others": _project(directory / "others", others, EVENTS_OF_A_RUN, say),
            f"a run of {others // 10:,} events": _project(directory / "long", 0, others // 10, say),
        }
        workspaces = {name: holdfast.open(place) for name, place in places.items()}
        subjects: dict[str, Subject] = {
            f"{look}, {name}": partial(timed, partial(LOOKS[look], workspace))
            for look in LOOKS
            for name, workspace in workspaces.items()
        }
        found = take_turns(subjects, 30 if quick else 100)
        for workspace in workspaces.values():
            workspace.close()
    report = Report([], [times(name, sample) for name, sample in found.items()])
    empty, *more = places
    for look in LOOKS:
        for name in more:
            base = found[f"{look}, {empty}"]
            report.measures.append(ratio(f"{look}: {name} beside {empty}", found[f"{look}, {name}"], base, LIMIT))
    return report


def _project(directory: Path, others: int, events: int, say: Callable[[str], None]) -> Path:
    """A project with this many events of other runs, and then one open run of its own."""
    project = make_project(directory)
    fill(project, others, say)
    mix = calls.mix()
    with holdfast.open(project) as workspace:
        run = holdfast.start(workspace, "Look at this one").run.id
        for first in range(0, events, EVENTS_OF_A_RUN):
            with workspace.writing() as journal:
                journal.append(run, *(calls.as_draft(next(mix)) for _ in range(min(EVENTS_OF_A_RUN, events - first))))
    return project
