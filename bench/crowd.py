"""Many at once: whether all get through, each exactly once, and how long one of them waits."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import holdfast
from bench import calls
from bench.ground import ground, hook, make_project
from bench.report import Measure, Report, milliseconds_at, times
from bench.timing import Sample, pipe_with, spawn
from bench.writer import Writer
from holdfast.core.model import Event

PROCESSES = 64
AT_MOST = 1_000  # milliseconds that a hook takes among so many


class Written(NamedTuple):
    """What came of some processes writing at once."""

    seconds: float
    writes: Sample
    failed: int
    wrong: int

    @property
    def rate(self) -> float:
        return len(self.writes.seconds) / self.seconds


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    each = 5 if quick else 25
    with ground() as directory:
        one = _write(make_project(directory / "one"), 1, PROCESSES * each)
        many = _write(make_project(directory / "many"), PROCESSES, each)
        hooks, wrong = _hooks(make_project(directory / "hooks"), 2 if quick else 8)
    return Report(
        [
            Measure(f"{PROCESSES} processes writing at once: processes that failed", many.failed, 0),
            Measure("… events that are not there exactly once", many.wrong, 0),
            Measure("… time beside one process that writes as much", many.seconds / one.seconds),
            Measure(f"{PROCESSES} hooks at once: calls that are not there exactly once", wrong, 0),
            milliseconds_at(0.99, "… milliseconds at p99", hooks, AT_MOST),
        ],
        [
            f"{PROCESSES} processes: {many.rate:,.0f} writes a second; one process: {one.rate:,.0f}",
            times(f"a write, {PROCESSES} processes at once", many.writes),
            times("a write, one process", one.writes),
            times(f"a hook, {PROCESSES} at once", hooks),
        ],
    )


def _write(project: Path, processes: int, each: int) -> Written:
    writers = [Writer(project, f"writer-{number}", each) for number in range(processes)]
    for writer in writers:
        writer.wait_until_ready()
    begun = time.perf_counter()
    for writer in writers:
        writer.let_go()
    writes = Sample(tuple(seconds for writer in writers for seconds in writer.finish()))
    seconds = time.perf_counter() - begun
    expected = Counter(f"writer-{number} {count}" for number in range(processes) for count in range(each))
    found = Counter(event.body["text"] for event in _events(project, "action.taken"))
    failed = sum(writer.process.returncode != 0 for writer in writers)
    return Written(seconds, writes, failed, _difference(expected, found))


def _hooks(project: Path, crowds: int) -> tuple[Sample, int]:
    """Crowds of hooks; answers with the time each took, and how many calls are missing or doubled."""
    payloads = [calls.sized(2048, number) for number in range(crowds * PROCESSES)]
    seconds: list[float] = []
    with contextlib.chdir(project):
        for first in range(0, len(payloads), PROCESSES):
            seconds += _all_at_once(payloads[first : first + PROCESSES])
    expected = Counter(payload.decode() for payload in payloads)
    found = Counter(calls.Payload("", event.body["call"]).data.decode() for event in _events(project, "call.kept"))
    return Sample(tuple(seconds)), _difference(expected, found)


def _all_at_once(payloads: list[bytes]) -> list[float]:
    begun: dict[int, float] = {}
    for payload in payloads:
        with pipe_with(payload) as given:
            begin = time.perf_counter()
            begun[spawn(hook(), given)] = begin
    return [time.perf_counter() - begun[os.wait()[0]] for _ in payloads]


def _events(project: Path, kind: str) -> list[Event]:
    with holdfast.open(project) as workspace:
        return [event for event in holdfast.log(workspace).events if event.kind == kind]


def _difference(expected: Counter[str], found: Counter[str]) -> int:
    return ((expected - found) + (found - expected)).total()
