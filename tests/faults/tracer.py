"""Runs a command under `iotrace`, which numbers its state-changing calls and can break one of them.

This is the thin side: building the tracer, starting it, reading what it wrote down. What a fault does is described at
the top of `iotrace.c`; trying many of them is `explorer`'s work.

Linux on x86-64. The code for aarch64 is there and compiles, but has never run.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("iotrace.c")
MACHINES = ("x86_64", "aarch64")
TEARABLE = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range"}
)  # what the modes `torn` and `short` can strike at


class TracerError(Exception):
    """The tracer itself could not be built or did not work; says nothing about the command."""


@dataclass(frozen=True)
class Call:
    """One state-changing call. Number 0 is something said on standard output or error."""

    number: int
    pid: int
    name: str
    path: str
    other: str | None = None
    result: int | None = None
    fd: int | None = None
    offset: int | None = None
    data: bytes | None = None

    def describe(self, directory: Path) -> str:
        """`rename state.json.tmp -> state.json`, with paths relative to the directory where they lie in it."""
        words = f"{self.name} {_relative(self.path, directory)}"
        return words if self.other is None else f"{words} -> {_relative(self.other, directory)}"


@dataclass(frozen=True)
class Traced:
    """What became of a traced command.

    `returncode` is the command's own, as `subprocess` gives it (a signal is negative), and None after a timeout. It is
    0 although `killed` when the command had ended well and a process that it had left behind was killed later.
    `fault` is the call that was struck; None when there were fewer calls, or nothing to tear at this one.
    """

    returncode: int | None
    stdout: str
    stderr: str
    calls: int
    timed_out: bool
    killed: bool
    fault: Call | None


def available() -> str | None:
    """Why the tracer cannot be used here, or None if it can."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        return f"fault injection needs Linux on {' or '.join(MACHINES)}, this is {sys.platform} {platform.machine()}"
    return _reason_not_to_work()


@functools.cache
def _reason_not_to_work() -> str | None:
    # Containers and hardened kernels forbid ptrace or seccomp in many ways; only trying tells.
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-probe-") as directory:
            traced = trace(["/bin/sh", "-c", "echo probe > probe"], Path(directory))
    except TracerError as error:
        return f"fault injection does not work here: {error}"
    if traced.calls != 2:
        return f"fault injection does not work here: the tracer saw {traced.calls} calls of 2"
    return None


def trace(
    argv: Sequence[str | os.PathLike[str]],
    directory: Path,
    *,
    point: int | None = None,
    mode: str = "kill",
    record: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 30,
) -> Traced:
    """Run a command in the directory (or in `cwd`), with a fault of this mode at call number `point`, if given.

    Comes back when the last process of the tree is gone, not only the first. After the timeout all of them are killed.
    `record` names a file, outside the directory, for `read_record`.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-trace-") as scratch:
        report = Path(scratch, "report")
        tracer = [os.fspath(build()), "-d", os.fspath(directory), "-o", os.fspath(report)]
        if point is not None:
            tracer += ["-n", str(point), "-m", mode]
        if record is not None:
            tracer += ["-r", os.fspath(record)]
        process = subprocess.Popen(
            [*tracer, "--", *argv],
            cwd=directory if cwd is None else cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            stdout, stderr, timed_out = _communicate(process, stdin, timeout)
        return _traced(_read_lines(report), stdout, stderr, timed_out)


def read_record(record: Path) -> list[Call]:
    """The calls of a run in the order in which they returned; those that a kill cut short are missing."""
    return [_call(line) for line in _read_lines(record)]


def _communicate(process: subprocess.Popen[bytes], stdin: bytes, timeout: float) -> tuple[str, str, bool]:
    timed_out = False
    try:
        stdout, stderr = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        process.kill()  # the kernel kills everything traced together with its tracer
        stdout, stderr = process.communicate()
    except BaseException:
        process.kill()
        raise
    return stdout.decode(errors="replace"), stderr.decode(errors="replace"), timed_out


def _traced(lines: list[dict[str, Any]], stdout: str, stderr: str, timed_out: bool) -> Traced:
    facts = {key: value for line in lines for key, value in line.items()}
    if "status" not in facts and not timed_out:
        raise TracerError(stderr.strip() or "the tracer ended without a report")
    return Traced(
        returncode=facts.get("status"),
        stdout=stdout,
        stderr=stderr,
        calls=facts.get("calls", 0),
        timed_out=timed_out,
        killed=facts.get("killed", False),
        fault=_call(facts["fault"]) if "fault" in facts else None,
    )


def _read_lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    # A killed tracer leaves half a line at the end.
    return [json.loads(line) for line in file.read_text("ascii").splitlines(keepends=True) if line.endswith("\n")]


def _call(line: dict[str, Any]) -> Call:
    return Call(
        number=line["number"],
        pid=line["pid"],
        name=line["call"],
        path=_path(line["path"]),
        other=_path(line["other"]) if "other" in line else None,
        result=line.get("result"),
        fd=line.get("fd"),
        offset=line.get("offset"),
        data=bytes.fromhex(line["data"]) if "data" in line else None,
    )


def _path(text: str) -> str:
    # The tracer writes each byte as the character of that number, because file names need not be UTF-8.
    return os.fsdecode(text.encode("latin-1"))


def _relative(path: str, directory: Path) -> str:
    inside = Path(path).is_relative_to(directory.resolve())
    return os.path.relpath(path, directory.resolve()) if inside else path


@functools.cache
def build() -> Path:
    """The compiled tracer, built unless this source has been built before. Raises TracerError."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise TracerError("there is no gcc to build the tracer with")
    source = SOURCE.read_bytes()
    binary = _cache_directory() / f"iotrace-{hashlib.sha256(source).hexdigest()[:16]}"
    if not binary.exists():
        _compile(compiler, binary)
    return binary


def _compile(compiler: str, binary: Path) -> None:
    # Several pytest workers may get here at once: each builds its own file, and the last rename wins with equal bytes.
    # We never open that file ourselves: a descriptor caught by another thread's fork would make it "text file busy".
    unfinished = binary.with_name(f"{binary.name}.{os.getpid()}-{secrets.token_hex(4)}")
    command = [compiler, "-O2", "-Wall", "-Wextra", "-std=gnu11", "-o", os.fspath(unfinished), os.fspath(SOURCE)]
    compiled = subprocess.run(command, capture_output=True, text=True)
    if compiled.returncode != 0:
        raise TracerError(f"{compiler} could not build the tracer: {compiled.stderr.strip()}")
    unfinished.replace(binary)


def _cache_directory() -> Path:
    # The name can be guessed, so somebody else may have been there first: what we run from here must be our own.
    directory = Path(tempfile.gettempdir(), f"holdfast-faults-{os.getuid()}")
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise TracerError(f"{directory} is not a directory of ours alone")
    return directory
