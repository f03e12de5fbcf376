"""How much room many checkpoints take, where it goes, and whether the last ones cost more than the first."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import fmean

import holdfast
from bench.report import Measure, Report, ratio, times
from bench.repositories import Pen, take_up
from bench.timing import Failed, Sample, take_turns, timed

ALLOWED = 6.0  # megabytes that a thousand checkpoints may take, everything included
STAGE = 1_000  # checkpoints after which the room is looked at
PARTS = {
    "journal.db": "journal",
    "journal.db-wal": "the journal's log",
    "index": "private index",
}
AROUND, FEWER = 50, 20  # checkpoints that speak for the one among them; fewer where there are not many


def measure(report: Report, old: Path, young: Path, files: int, count: int, say: Callable[[str], None]) -> None:
    """Two projects without a store: one is filled, and then both take turns, so that a slow minute hits both alike."""
    before = parts(old)
    for project in (old, young):
        take_up(project)
    pen = Pen(old, files)
    seconds: list[float] = []
    while len(seconds) < count:
        say(f"making checkpoints: {len(seconds):,} of {count:,}")
        seconds += _make(pen, min(STAGE, count - len(seconds)))
        if len(seconds) in (min(STAGE, count), count):
            _tell_room(report, len(seconds), parts(old) - before)
    report.figures.append(times(f"{count:,} checkpoints, one after the other", Sample(tuple(seconds))))
    report.figures.append(f"… {fmean(seconds) * 1000:.3g} ms on average, with the merging of packs")
    _compare(report, pen, Pen(young, files), count)


def _make(pen: Pen, count: int) -> list[float]:
    with holdfast.open(pen.project) as workspace:
        made = [pen.measured(lambda _: timed(partial(holdfast.checkpoint, workspace)))() for _ in range(count)]
        last = holdfast.checkpoint(workspace).checkpoint
        if holdfast.diff(workspace, last.id).code:
            raise Failed("a checkpoint does not equal the worktree")
    return made


def _compare(report: Report, old: Pen, young: Pen, count: int) -> None:
    with holdfast.open(old.project) as many, holdfast.open(young.project) as few:
        found = take_turns(
            {
                "old": old.measured(lambda _: timed(partial(holdfast.checkpoint, many))),
                "young": young.measured(lambda _: timed(partial(holdfast.checkpoint, few))),
            },
            AROUND if count >= STAGE else FEWER,
        )
        if holdfast.verify(many).problems:
            raise Failed(f"`holdfast verify` finds problems after {count:,} checkpoints")
    report.measures.append(ratio(f"the {count:,}th checkpoint beside the 10th", found["old"], found["young"], 1.2))
    report.figures.append(times(f"checkpoints after the {count:,}th", found["old"]))
    report.figures.append(times("… in turns with checkpoints around the 10th", found["young"]))


def _tell_room(report: Report, count: int, taken: Counter[str]) -> None:
    megabytes = sum(taken.values()) / 1e6
    limit = 1.0 if count <= STAGE else None
    name = f"room of {count:,} checkpoints, one change of 2 KB each, beside {ALLOWED:g} MB"
    report.measures.append(Measure(name, megabytes / ALLOWED, limit))
    listed = ", ".join(f"{part} {size / 1e6:.2f} MB" for part, size in taken.most_common())
    report.figures.append(f"{count:,} checkpoints take {megabytes:.2f} MB on the disk: {listed}")


def parts(project: Path) -> Counter[str]:
    """What the git directory takes on the disk, by what it is for."""
    found: Counter[str] = Counter()
    for path, size in _sizes(project / ".git"):
        found[_part(path, project / ".git")] += size
    return found


def _part(path: Path, directory: Path) -> str:
    inside = path.relative_to(directory).parts
    if inside[0] == "holdfast":
        return PARTS.get(path.name, "the rest of the store")
    if path.parent.name == "pack" and path.with_suffix(".keep").exists():
        return "our packs"
    return "objects outside our packs" if inside[0] == "objects" else "the rest of the git directory"


def _sizes(directory: Path) -> Iterator[tuple[Path, int]]:
    """Every file with the room that its blocks take: many small files take more than their bytes."""
    for place, _, names in os.walk(directory):
        for path in (Path(place, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                yield path, path.stat().st_blocks * 512
