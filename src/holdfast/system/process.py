"""Processes: identity, liveness, and foreground commands.

A pid alone is reused; with the kernel's start time (since boot), the boot id and the pid namespace it is unique. On
Linux the start time is read from /proc: libraries convert it to the wall clock, which can be set.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from msgspec import structs

from holdfast.core.errors import NotFound, Refused
from holdfast.core.model import Process
from holdfast.core.text import sound_text
from holdfast.system import clock, locate
from holdfast.system.boot import namespaces

GONE_STATES = ("Z", "X", "x")


class Running(NamedTuple):
    pid: int
    words: tuple[str, ...]
    variables: dict[str, str]

    @property
    def command(self) -> str:
        return " ".join(self.words)


class Judgement(NamedTuple):
    alive: bool | None  # None: unknown from here
    evidence: str


@functools.cache
def here() -> Process:
    """Return the machine, boot and namespace we run in, as an identity without pid."""
    if sys.platform == "linux":
        boot = clock.boot()
    else:
        import psutil

        boot = f"{psutil.boot_time():.0f}"
    machine = locate.first_line("/etc/machine-id")
    return Process(0, "", boot, namespaces().decode(), machine, os.uname().nodename)


def identify(pid: int) -> Process | None:
    found = _look(pid)
    if found is None or found[0] in GONE_STATES:
        return None
    return structs.replace(here(), pid=pid, start=found[1])


def judge(process: Process) -> Judgement:
    """Return whether a process lives, with the evidence. Without evidence it is not declared dead."""
    place = here()
    if not place.boot or not process.boot:
        here.cache_clear()  # it may be readable later
        return Judgement(None, f"it is not known which start of the machine process {process.pid} belongs to")
    if process.boot != place.boot:
        if (process.machine, process.host) == (place.machine, place.host):
            return Judgement(False, f"the machine was restarted since process {process.pid} ran")
        return Judgement(None, f"process {process.pid} runs on another machine, {process.host}")
    if process.namespace != place.namespace:
        return Judgement(None, f"process {process.pid} runs in another container")
    try:
        found = _look(process.pid)
    except OSError as error:
        return Judgement(None, f"process {process.pid} cannot be looked at: {error.strerror}")
    if found is None:
        return Judgement(False, f"process {process.pid} is gone")
    state, start = found
    if start != process.start:
        return Judgement(False, f"process {process.pid} is gone, its number belongs to another program now")
    if state in GONE_STATES:
        return Judgement(False, f"process {process.pid} has ended")
    return Judgement(True, f"process {process.pid} is running")


def is_ancestor(process: Process) -> bool:
    """Return True if a process is this one or one of its ancestors."""
    return process.pid in {os.getpid(), *ancestors()} and judge(process).alive is True


def ancestors() -> Iterator[int]:
    pid = os.getppid()
    while pid > 1:
        yield pid
        pid = _parent(pid)


def running_with(*names: str) -> Iterator[Running]:
    """Yield living processes that have one of these variables, as far as their environment is readable."""
    import psutil  # slow to import, and needed only after a session was killed

    for found in psutil.process_iter(["pid", "environ"]):
        environ = found.info["environ"] or {}  # None: it has ended meanwhile, or belongs to another user
        variables = {name: environ[name] for name in names if name in environ}
        with contextlib.suppress(psutil.Error):
            if variables and found.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                yield Running(found.pid, tuple(map(sound_text, found.cmdline())), variables)


def _parent(pid: int) -> int:
    if sys.platform != "linux":
        import psutil

        return psutil.Process(pid).ppid() if psutil.pid_exists(pid) else 0
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return 0


def run_foreground(command: Sequence[str], directory: Path, *, to_stderr: bool = False) -> int:
    """Run a command in the user's terminal and return its exit code, as a shell would.

    With `to_stderr`, its output goes to our standard error.
    """
    import subprocess

    try:
        code = subprocess.call(list(command), cwd=directory, stdout=2 if to_stderr else None)
    except FileNotFoundError as error:
        raise NotFound(f"There is no command {command[0]}", [("directory", directory)]) from error
    except PermissionError as error:
        raise Refused(f"{command[0]} cannot be run", [("directory", directory)], ["`chmod +x`"]) from error
    except ValueError as error:  # a NUL in it
        raise NotFound("There is no such command", [("because", error)], ["look at its spelling"]) from error
    return 128 - code if code < 0 else code


def show_in_pager(command: str, text: str, environ: Mapping[str, str]) -> bool:
    """Show a text in a pager, a command for the shell as git takes it; False if there is none.

    Ctrl-C belongs to the pager, as it may search or follow.
    """
    import subprocess

    try:
        pager = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=environ)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        pager.communicate(text.encode("utf-8", "replace"))  # a pager that is left early is no error
    finally:
        signal.signal(signal.SIGINT, before)
    return pager.returncode not in (126, 127)


def become(program: str, command: Sequence[str], directory: Path, environ: Mapping[str, str]) -> NoReturn:
    os.chdir(directory)
    os.execve(program, list(command), dict(environ))


def ask(command: Sequence[str], environ: Mapping[str, str], deadline: float, program: str | None = None) -> str | None:
    """Return a command's output; None if it cannot start, fails, or exceeds the deadline.

    `program` is the executable, if it differs from the first word.
    """
    import subprocess

    try:
        started = subprocess.Popen(
            list(command), executable=program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/", env=environ, start_new_session=True,
        )  # fmt: skip
    except OSError:
        return None
    with started:
        try:
            out, _ = started.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            return None
    return out.decode("utf-8", "replace") if started.returncode == 0 else None


def parse_stat(text: str) -> tuple[str, str] | None:
    """Return state and start time from /proc/PID/stat; the name in it may contain brackets."""
    fields = text.rpartition(")")[2].split()
    return (fields[0], fields[19]) if len(fields) > 19 else None


def _look(pid: int) -> tuple[str, str] | None:
    if sys.platform != "linux":
        import psutil

        try:
            process = psutil.Process(pid)
            state = "Z" if process.status() == psutil.STATUS_ZOMBIE else "S"
            return state, f"{process.create_time():.2f}"
        except psutil.Error:
            return None
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace"))
    except (FileNotFoundError, ProcessLookupError):
        return None
