"""Breaks a command at every call that changes its directory, and asks each time whether all promises were kept.

    report = explore(prepare=an_empty_store, command=keep_one_event, check=nothing_is_lost, modes=("kill", "torn"))
    report.assert_clean()

`prepare(directory)` builds the starting point once; it has to bear being copied, so no absolute paths into itself.
Every run gets a copy of its own. `command(directory)` is the argv to break. `recover(directory)`, if given, is an argv
that is run unbroken afterwards and has to succeed. `check(outcome)` raises AssertionError with a reason. Checks run in
several threads at once, and once before all others on a run without a fault (mode "none", point 0).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .report import TRACEBACK, Check, Outcome, Report, Trial, find_violations, spread
from .tracer import TEARABLE, Call, Traced, read_record, trace

Prepare = Callable[[Path], None]
Command = Callable[[Path], Sequence[str]]

ROOM_IN_MEMORY = 512 * 1024 * 1024
ENDS_EVERYTHING = ("kill", "torn")
HALVES_WRITES = ("torn", "short")


def explore(
    *,
    prepare: Prepare,
    command: Command,
    check: Check,
    modes: Sequence[str],
    points: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    recover: Command | None = None,
    timeout: float = 30,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    allow_traceback: bool = False,
    only: Callable[[Call], bool] = lambda call: True,
) -> Report:
    """One run for every mode and call, or for `points` calls a mode: the first, the last, and a spread between.

    Apart from what the check finds, a hang is a violation, and so is a traceback in the output unless the mode kills
    the whole tree. Raises AssertionError when the command or the check fails without any fault.
    """
    with work_directory() as base:
        template = base / "template"
        template.mkdir()
        prepare(template)
        exploration = Exploration(base, command, check, recover, timeout, env, stdin, allow_traceback)
        calls = [call for call in exploration.run_unbroken() if only(call)]
        faults = [Fault(mode, point) for mode in modes for point in spread(points_for(mode, calls), points, seed, mode)]
        with ThreadPoolExecutor(jobs) as pool:
            trials = list(pool.map(exploration.run_broken, faults))
    return Report.over(trials, modes, len(calls), seed)


class Fault(NamedTuple):
    mode: str
    point: int


@dataclass(frozen=True)
class Exploration:
    base: Path
    command: Command
    check: Check
    recover: Command | None
    timeout: float
    env: Mapping[str, str] | None
    stdin: bytes
    allow_traceback: bool

    def run_unbroken(self) -> list[Call]:
        """The calls of a run without a fault; all else would be meaningless if that one were not in order."""
        record = self.base / "record"
        with self._copy("unbroken") as directory:
            traced = self._trace(directory, None, record)
            outcome = Outcome.of(traced, directory, mode="none", point=0, call="no fault")
            return calls_of_sound_run(outcome, self._examine(outcome), record)

    def run_broken(self, fault: Fault) -> Trial:
        with self._copy(f"{fault.mode.replace(':', '-')}-{fault.point}") as directory:
            traced = self._trace(directory, fault)
            call = traced.fault.describe(directory) if traced.fault else "no such call this time"
            outcome = Outcome.of(traced, directory, mode=fault.mode, point=fault.point, call=call)
            return Trial(outcome, traced.fault is not None, tuple(self._examine(outcome)))

    def _trace(self, directory: Path, fault: Fault | None, record: Path | None = None) -> Traced:
        return trace(
            self.command(directory),
            directory,
            point=fault.point if fault else None,
            mode=fault.mode if fault else "kill",
            record=record,
            env=self.env,
            stdin=self.stdin,
            timeout=self.timeout,
        )

    def _examine(self, outcome: Outcome) -> list[str]:
        reasons = []
        if outcome.returncode is None:
            reasons.append(f"hung for {self.timeout:g} seconds")
        if self._looks_for_traceback(outcome.mode) and TRACEBACK in outcome.stdout + outcome.stderr:
            reasons.append(f"printed a traceback: {last_line(outcome.stderr)}")
        if self.recover is not None:
            reasons += recover_in(outcome.directory, self.recover, self.env, self.timeout)
        return reasons + find_violations(self.check, outcome)

    def _looks_for_traceback(self, mode: str) -> bool:
        return mode not in ENDS_EVERYTHING and not self.allow_traceback

    @contextmanager
    def _copy(self, name: str) -> Iterator[Path]:
        directory = self.base / name
        copy_tree(self.base / "template", directory)
        try:
            yield directory
        finally:
            remove_tree(directory)


def points_for(mode: str, calls: Sequence[Call]) -> list[int]:
    """The numbers of the calls at which this mode can do something."""
    return sorted(call.number for call in calls if mode not in HALVES_WRITES or is_tearable(call))


def is_tearable(call: Call) -> bool:
    return call.name in TEARABLE and call.result is not None and call.result > 1


def calls_of_sound_run(outcome: Outcome, reasons: list[str], record: Path) -> list[Call]:
    """What a run without a fault recorded. Raises AssertionError if there is any reason not to build on it."""
    if outcome.returncode != 0:
        reasons = [*reasons, f"exit code {outcome.returncode}: {last_line(outcome.stderr)}"]
    calls = [call for call in read_record(record) if call.number]
    if not calls:
        reasons = [*reasons, "the command changes nothing in the directory"]
    if reasons:
        raise AssertionError(f"without any fault: {'; '.join(reasons)}")
    return calls


def recover_in(directory: Path, recover: Command, env: Mapping[str, str] | None, timeout: float) -> list[str]:
    """Run the recovery there; the reasons why it did not succeed."""
    try:
        recovered = subprocess.run(
            recover(directory), cwd=directory, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return [f"the recovery hung for {timeout:g} seconds"]
    if recovered.returncode == 0:
        return []
    return [f"the recovery failed with {recovered.returncode}: {last_line(recovered.stderr.decode(errors='replace'))}"]


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


@contextmanager
def work_directory() -> Iterator[Path]:
    """A private directory for the copies, in memory if that can be had: thousands of runs would wear out a disk."""
    base = Path(tempfile.mkdtemp(prefix="holdfast-faults-", dir=directory_in_memory()))
    try:
        yield base
    finally:
        remove_tree(base)


def directory_in_memory() -> Path | None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or not os.access(memory, os.W_OK):
        return None
    # Containers mount it noexec, and then a hook or script in the copy would fail for a reason that is not ours.
    if os.statvfs(memory).f_flag & os.ST_NOEXEC or shutil.disk_usage(memory).free < ROOM_IN_MEMORY:
        return None
    return memory


def copy_tree(source: Path, target: Path) -> None:
    # `cp -a` and not shutil: besides modes, times, links and empty directories it keeps hard links, FIFOs and sockets.
    target.mkdir()
    subprocess.run(["cp", "-a", "--", f"{source}/.", f"{target}/"], check=True)


def remove_tree(directory: Path) -> None:
    """Also where the command left directories that nobody may write to."""
    try:
        shutil.rmtree(directory)
    except PermissionError:
        directory.chmod(0o700)
        for parent, names, _ in os.walk(directory):  # does not follow links, and opens a directory after we did this
            for name in names:
                if not os.path.islink(inner := os.path.join(parent, name)):
                    os.chmod(inner, 0o700)
        shutil.rmtree(directory)
