"""What remains on the disk, and whether looking stays quick among many runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

import holdfast
from bench import calls
from bench.ground import fill, fill_runs, ground, make_project
from bench.report import Measure, Report, ratio, times
from bench.timing import Subject, take_turns, timed
from holdfast.project.workspace import Workspace

EVENTS = 10_000
LOOKS: dict[str, Callable[[Workspace], object]] = {
    "newest 20 runs": partial(holdfast.runs, limit=20),
    "search, a rare word": partial(holdfast.runs, limit=20, search="ticket7"),
    "search, a common word": partial(holdfast.runs, limit=20, search="cart"),
    "search, a beginning": partial(holdfast.runs, limit=20, search="tic*"),
}


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    sizes = (10, 1_000, 10_000) if quick else (10, 1_000, 100_000)
    with ground() as directory:
        report = _size(directory)
        for size in sizes:
            say(f"making {size:,} runs")
            fill_runs(make_project(directory / str(size)), size)
        workspaces = {size: holdfast.open(directory / str(size)) for size in sizes}
        subjects: dict[str, Subject] = {
            f"{look}, {size:,} runs": partial(timed, partial(LOOKS[look], workspace))
            for look in LOOKS
            for size, workspace in workspaces.items()
        }
        found = take_turns(subjects, 20 if quick else 100)
        for workspace in workspaces.values():
            workspace.close()
    for look in LOOKS:
        few, many = (found[f"{look}, {size:,} runs"] for size in (sizes[0], sizes[-1]))
        report.measures.append(ratio(f"{look}: {sizes[-1]:,} runs beside {sizes[0]}", many, few))
    report.figures.extend(times(name, sample) for name, sample in found.items())
    return report


def _size(directory: Path) -> Report:
    """Bytes of the store beside the bytes that the hooks were given."""
    project = make_project(directory / "size")
    empty = _bytes(project)
    fill(project, EVENTS, lambda _: None)
    stored = (_bytes(project) - empty) / EVENTS * 1000
    given = sum(len(payload.data) for payload in itertools.islice(calls.mix(), EVENTS)) / EVENTS * 1000
    return Report(
        [Measure("bytes stored beside bytes given by hooks", stored / given)],
        [f"1,000 events: {stored / 1e6:.2f} MB stored, {given / 1e6:.2f} MB given"],
    )


def _bytes(project: Path) -> int:
    """The size of the database after its log was written back."""
    path = project / ".git" / "holdfast" / "journal.db"
    connection = apsw.Connection(str(path))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    return path.stat().st_size
