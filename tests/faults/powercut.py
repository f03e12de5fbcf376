"""Cuts the power of a real file system at every call that changes it, and asks what is still there afterwards.

    report = cut_everywhere(prepare=a_store, command=keep_one_event, check=nothing_is_lost, filesystem="ext4")
    report.assert_clean()

For each call: a fresh image on a loop device is mounted, the command is killed right before the call, the file system
is shut down by the ioctl that xfstests uses for this, unmounted, mounted again (which replays its journal), and the
check looks at it. The last point lies after the command has ended: all that was acknowledged has to be there.

    drop    nothing that was only in memory reaches the disk
    log     the journal still does, file data does not: names without contents
    flush   everything does; loses nothing, and shows that a check complains about the cut and not about the command

The disk itself is taken to be honest: what it was told to write is written, in that order.

All mounts live in a mount namespace of a worker process, so they vanish with it however it ends. The functions travel
to the worker by pickle: they have to be functions at the top level of a module, or `functools.partial` of such.
"""

from __future__ import annotations

import fcntl
import functools
import os
import pickle
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import tracer
from .explorer import Command, Prepare, calls_of_sound_run, recover_in, work_directory
from .report import Check, Outcome, Report, Trial, find_violations, spread

GOING_DOWN = 0x8004587D  # _IOR('X', 125, uint32): XFS_IOC_GOINGDOWN, and EXT4_IOC_SHUTDOWN
CUTS = {"flush": 0, "log": 1, "drop": 2}
AFTER_COMPLETION = "after completion"
TOOLS = ("unshare", "mount", "umount", "cp")


class PowercutError(Exception):
    """The machinery failed; says nothing about the command."""


@dataclass(frozen=True)
class Filesystem:
    size: int
    make: tuple[str, ...]
    options: str


FILESYSTEMS = {
    # No background work on the image, and no commit of the journal but by an fsync: each cut then means the same.
    "ext4": Filesystem(64 << 20, ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0"), "loop,commit=300"),
    "xfs": Filesystem(320 << 20, ("mkfs.xfs", "-q", "-f"), "loop"),
}


@dataclass(frozen=True)
class Job:
    prepare: Prepare
    command: Command
    check: Check
    recover: Command | None
    filesystem: str
    mount_options: str
    cuts: tuple[str, ...]
    points: int | None
    seed: int
    timeout: float


def available(filesystem: str = "ext4") -> str | None:
    """Why power cannot be cut here, or None if it can."""
    reason = tracer.available()
    if reason is not None:
        return reason
    if os.geteuid() != 0:
        return "cutting the power needs root, for mounting"
    if not Path("/dev/loop-control").exists():
        return "cutting the power needs loop devices"
    for tool in (*TOOLS, FILESYSTEMS[filesystem].make[0]):
        if shutil.which(tool) is None:
            return f"cutting the power needs `{tool}`"
    return _reason_not_to_work(filesystem)


@functools.cache
def _reason_not_to_work(filesystem: str) -> str | None:
    # Root in a container often may not mount. And a cut that loses nothing would let every check pass.
    try:
        probe = cut_everywhere(
            prepare=_prepare_nothing, command=_leave_unsynced, check=_is_lost, filesystem=filesystem, cuts=("drop",)
        )
    except PowercutError as error:
        return f"cutting the power does not work here: {error}"
    return f"cutting the power does not work here: {probe.violations[0]}" if probe.violations else None


def _prepare_nothing(directory: Path) -> None:
    pass


def _leave_unsynced(directory: Path) -> list[str]:
    return ["/bin/sh", "-c", "echo unsynced > probe"]


def _is_lost(outcome: Outcome) -> None:
    expected = outcome.mode == "none"
    assert (outcome.directory / "probe").exists() == expected, "a file that was never synced survived"


def cut_everywhere(
    *,
    prepare: Prepare,
    command: Command,
    check: Check,
    filesystem: str = "ext4",
    cuts: Sequence[str] = ("drop", "log"),
    points: int | None = None,
    seed: int = 0,
    recover: Command | None = None,
    mount_options: str = "",
    timeout: float = 30,
) -> Report:
    """One run for every kind of cut and call, or for `points` calls a cut: the first, the last, and a spread between.

    The arguments mean what they mean to `explore`; the mode of an outcome is the kind of cut. `mount_options` go on top
    of ours, say "noauto_da_alloc" to take away the help that ext4 gives to programs that forget to fsync.
    """
    job = Job(prepare, command, check, recover, filesystem, mount_options, tuple(cuts), points, seed, timeout)
    with work_directory() as base:
        _write_job(base, job)
        worker = subprocess.run(_worker_command(base), env=worker_environment(), capture_output=True, text=True)
        if worker.returncode != 0:
            raise PowercutError(worker.stderr.strip() or f"the worker ended with {worker.returncode}")
        result = pickle.loads((base / "result").read_bytes())
    if isinstance(result, Report):
        return result
    raise AssertionError(result)


def _write_job(base: Path, job: Job) -> None:
    try:
        (base / "job").write_bytes(pickle.dumps(job))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"a worker can only be given functions from the top level of a module: {error}") from error


def _worker_command(base: Path) -> list[str]:
    module = f"{__package__}.powercut"
    return ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", module, os.fspath(base)]


def worker_environment() -> dict[str, str]:
    """The worker has to find the same modules under the same names as we do.

    Not all of them are on our own path: pytest may have loaded this package by its file name.
    """
    above = os.fspath(Path(__file__).parents[len(str(__package__).split("."))])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in (*sys.path, above))}


def main(base: Path) -> None:
    """The worker: does the job that lies in the directory and leaves the report, or what was wrong without any cut."""
    job: Job = pickle.loads((base / "job").read_bytes())
    result: Report | str
    try:
        result = Worker(base, job).run()
    except AssertionError as error:
        result = str(error)
    (base / "result").write_bytes(pickle.dumps(result))


@dataclass(frozen=True)
class Worker:
    base: Path
    job: Job

    def run(self) -> Report:
        self._make_template()
        calls = self._run_unbroken()
        last = max(call.number for call in calls)
        moments = range(1, last + 2)  # before each call, and after the last
        trials = [
            self._cut_at(cut, point)
            for cut in self.job.cuts
            for point in spread(moments, self.job.points, self.job.seed, cut)
        ]
        return Report.over(trials, self.job.cuts, len(calls), self.job.seed)

    def _make_template(self) -> None:
        filesystem, image = FILESYSTEMS[self.job.filesystem], self.base / "template"
        image.touch()
        os.truncate(image, filesystem.size)
        run_tool(*filesystem.make, os.fspath(image))
        with self._mounted(image) as mount:
            (mount / "work").mkdir()  # not the root itself, which has a lost+found in it
            self.job.prepare(mount / "work")

    def _run_unbroken(self) -> list[tracer.Call]:
        record = self.base / "record"
        with self._copy("unbroken") as image, self._mounted(image) as mount:
            directory = mount / "work"
            traced = tracer.trace(self.job.command(directory), directory, record=record, timeout=self.job.timeout)
            outcome = Outcome.of(traced, directory, mode="none", point=0, call="no cut")
            return calls_of_sound_run(outcome, self._examine(outcome), record)

    def _cut_at(self, cut: str, point: int) -> Trial:
        with self._copy(f"{cut}-{point}") as image:
            with self._mounted(image) as mount:
                directory = mount / "work"
                traced = tracer.trace(self.job.command(directory), directory, point=point, timeout=self.job.timeout)
                cut_power(mount, cut)
            with self._mounted(image) as mount:
                call = traced.fault.describe(directory) if traced.fault else AFTER_COMPLETION
                outcome = Outcome.of(traced, directory, mode=cut, point=point, call=call)
                return Trial(outcome, True, tuple(self._examine(outcome)))

    def _examine(self, outcome: Outcome) -> list[str]:
        reasons = []
        if outcome.returncode is None:
            reasons.append(f"hung for {self.job.timeout:g} seconds")
        if self.job.recover is not None:
            reasons += recover_in(outcome.directory, self.job.recover, None, self.job.timeout)
        return reasons + find_violations(self.job.check, outcome)

    @contextmanager
    def _copy(self, name: str) -> Iterator[Path]:
        # A new file for each run: a loop device may hold on to the last one for a moment longer.
        image = self.base / name
        run_tool("cp", "--sparse=always", os.fspath(self.base / "template"), os.fspath(image))
        try:
            yield image
        finally:
            image.unlink()

    @contextmanager
    def _mounted(self, image: Path) -> Iterator[Path]:
        mount = self.base / "mount"
        mount.mkdir(exist_ok=True)
        options = ",".join(filter(None, (FILESYSTEMS[self.job.filesystem].options, self.job.mount_options)))
        run_tool("mount", "-t", self.job.filesystem, "-o", options, os.fspath(image), os.fspath(mount))
        try:
            yield mount
        finally:
            unmount(mount)


def cut_power(mount: Path, cut: str) -> None:
    descriptor = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, GOING_DOWN, struct.pack("I", CUTS[cut]))
    finally:
        os.close(descriptor)


def unmount(mount: Path, attempts: int = 100) -> None:
    # The kernel closes the files of a killed process a moment after we have seen it die.
    for _ in range(attempts):
        if subprocess.run(["umount", mount], capture_output=True).returncode == 0:
            return
        time.sleep(0.02)
    run_tool("umount", os.fspath(mount))


def run_tool(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise PowercutError(f"`{' '.join(command)}`: {done.stderr.strip() or done.returncode}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except PowercutError as error:
        sys.exit(str(error))
