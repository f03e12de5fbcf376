"""Trying many inputs on one parser: no exception but those that are its answers, no hang, no memory that runs away."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.core.errors import HoldfastError
from tests.hostile.mutated_inputs import LARGEST, Mutator
from tests.hostile.parsers import Parser

FAST = 2_000  # inputs a parser, with every change
ON_DEMAND = 100_000
MANY = 1_000_000
QUICK = 2 << 20  # bytes of the largest of the fast ones; two or three larger ones would take as long as all others
SEED = int(os.environ.get("FUZZ_SEED", "1"))
HANG = 1.0  # seconds of work for each megabyte that is begun
STUCK = 300.0  # seconds of waiting for each megabyte: long proofs run beside other work, and machines stand still
GROWTH = 200 * 1024  # KB; a command has some 45 MB before it reads anything, and must stay below 256 MB

NUMBERS = [FAST, pytest.param(ON_DEMAND, marks=pytest.mark.long), pytest.param(MANY, marks=pytest.mark.hours)]
each_number = pytest.mark.parametrize("count", NUMBERS)
each_lesser_number = pytest.mark.parametrize("count", NUMBERS[:2])  # where an input costs milliseconds


LARGE = 1 << 20  # bytes of an input that may take much memory


class Hang(BaseException):
    """Raised where nothing catches it."""


def fuzz(name: str, parser: Parser, count: int, seed: int = SEED) -> int:
    """Try so many inputs. Returns how many were."""
    gc.collect()
    gc.freeze()  # or what other tests have left is gone through while an input is tried, on the input's time
    before = _peak(reset=True)
    tried = 0
    with _alarms():
        largest = LARGEST if count > FAST else QUICK
        for data in itertools.islice(Mutator(parser.seeds, seed, largest), count):
            if len(data) > LARGE:
                _tidy()
            _attempt(name, parser, data, f"seed {seed}, input {tried}")
            tried += 1
    gc.unfreeze()
    assert _peak() - before < GROWTH, f"{name}: it took {(_peak() - before) // 1024} MB"
    return tried


def _attempt(name: str, parser: Parser, data: bytes, which: str) -> None:
    begun = 1 + (len(data) >> 20)
    signal.setitimer(signal.ITIMER_PROF, HANG * begun)
    signal.setitimer(signal.ITIMER_REAL, STUCK * begun)
    try:
        parser.attempt(data)
    except HoldfastError:
        pass
    except parser.errors:
        pass
    except BaseException as error:
        raise AssertionError(f"{name}: {type(error).__name__} {error!s:.200}, {which}: {data[:1500]!r}") from error


@contextlib.contextmanager
def _alarms() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Hang("it does not end")

    kinds = ((signal.SIGPROF, signal.ITIMER_PROF), (signal.SIGALRM, signal.ITIMER_REAL))
    before = [signal.signal(number, give_up) for number, _ in kinds]
    try:
        yield
    finally:
        for (number, timer), handler in zip(kinds, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def _tidy() -> None:
    """Give free memory back to the system, so that what many inputs have scattered does not count as this one's."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # where the C library is another
        ctypes.CDLL(None).malloc_trim(0)


def _peak(*, reset: bool = False) -> int:
    """The most memory that this process has had since the last reset, in KB; 0 where the system does not tell."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except OSError:
        return 0
