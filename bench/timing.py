"""Measuring: processes from start to end, subjects turn by turn, and what many measurements say."""

from __future__ import annotations

import contextlib
import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

Subject = Callable[[], float]  # does the thing once, answers with the seconds that it took


class Failed(Exception):
    """What was to be measured did not do its work."""


class Sample(NamedTuple):
    """Many measurements of one thing, in seconds and in the order of the turns."""

    seconds: tuple[float, ...]

    def at(self, share: float) -> float:
        """The time within which this share of the measurements stayed."""
        ordered = sorted(self.seconds)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def take_turns(subjects: Mapping[str, Subject], rounds: int, warm_up: int = 1) -> dict[str, Sample]:
    """Measure every subject once a round, in an order that changes, so that a slow minute hits all alike."""
    shuffle = random.Random(1).shuffle
    names = list(subjects)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-warm_up, rounds):
        shuffle(names)
        for name in names:
            seconds = subjects[name]()
            if number >= 0:
                found[name].append(seconds)
    return {name: Sample(tuple(seconds)) for name, seconds in found.items()}


def timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def process(arguments: list[str], stdin: bytes = b"") -> float:
    """Run a program to its end, in the present directory and environment, with little else around it to measure."""
    with tempfile.TemporaryFile() as errors, pipe_with(stdin) as given:
        begun = time.perf_counter()
        _, status = os.waitpid(spawn(arguments, given, errors.fileno()), 0)
        seconds = time.perf_counter() - begun
        if status:
            errors.seek(0)
            code = os.waitstatus_to_exitcode(status)
            raise Failed(f"{' '.join(arguments)}: exit {code}: {errors.read().decode('utf-8', 'replace')}")
    return seconds


@contextlib.contextmanager
def pipe_with(data: bytes) -> Iterator[int]:
    """The end of a pipe that already holds everything, which must fit into one."""
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, data)
        os.close(write_end)
        yield read_end
    finally:
        os.close(read_end)


def spawn(arguments: list[str], stdin: int, stderr: int = 2) -> int:
    """Start a program that reads from `stdin` and whose output nobody sees; answers with its pid."""
    return os.posix_spawn(
        arguments[0],
        arguments,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, stderr, 2),
        ],
    )
