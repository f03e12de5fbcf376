"""A started command: signals, periodic saves, and how it ended.

A program that catches a signal exits with a code, so its exit status does not tell why. The cause is noted here, where
signals, keys and hang-ups pass through.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Thread
from typing import NamedTuple, NoReturn

from holdfast.core.errors import NotFound, Refused

CHUNK = 1 << 16
TYPED = (signal.SIGINT, signal.SIGQUIT)  # signals that a terminal sends for keys
FINAL = (signal.SIGHUP, signal.SIGTERM)  # requests to end; Ctrl-C may only interrupt a turn or a job
SOON = 15.0  # seconds within which Ctrl-C ends a command, including its hooks


class Ended(NamedTuple):
    """The end of a command, by code or by signal, and the signal that requested it."""

    code: int
    signal: int | None = None
    asked: int | None = None

    @property
    def cause(self) -> int | None:
        """The signal that ended the command, caught or not. Ctrl-C does not explain death by another signal."""
        return self.asked if self.asked in FINAL or self.signal is None else self.signal

    @property
    def exit_code(self) -> int:
        return 128 + self.signal if self.signal is not None else self.code


class Child(ABC):
    pid: int

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.asked: int | None = None  # the first request to end
        self.interrupted: float | None = None  # time of Ctrl-C, if nothing was typed since
        self.is_over = False
        reading, writing = os.pipe()
        self.pid = self.start(command, environ, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as failed:
            failure = failed.read()
        if failure:
            self.reap()
            self.close()
            raise _unstarted(command[0], int(failure))

    @abstractmethod
    def start(self, command: list[str], environ: dict[str, str], failed: int) -> int:
        """Start the command and return its pid; a failure to start is written into `failed`."""

    def reap(self) -> None:
        os.waitpid(self.pid, 0)

    def close(self) -> None:  # noqa: B027 - one without a terminal has nothing to close
        pass

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        """Wait for the end, saving at every interval."""

    def tell(self, number: int) -> None:
        """Forward a signal. After the command's end its pid may be reused."""
        self.note(number)
        if not self.is_over:
            self.forward(number)

    def note(self, number: int) -> None:
        if self.is_over:
            return
        if number in FINAL:
            self.asked = self.asked or number
        elif number == signal.SIGINT:
            self.interrupted = time.monotonic()

    def conclude(self, over: Ended) -> Ended:
        """Return the end of the command with its cause."""
        self.is_over = True
        is_interrupted = self.interrupted is not None and time.monotonic() - self.interrupted < SOON
        return over._replace(asked=self.asked or (int(signal.SIGINT) if is_interrupted else None))

    def forward(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Beats:
    """Periodic saves in a thread, one at a time: waiting for a lock must not delay keys or output."""

    def __init__(self, beat: Callable[[], None], interval: float) -> None:
        self.beat, self.interval = beat, interval
        self.until = time.monotonic() + interval
        self._save: Thread | None = None

    def __enter__(self) -> Beats:
        return self

    def __exit__(self, *_: object) -> None:
        if self._save:
            self._save.join()

    @property
    def left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def keep(self) -> None:
        """Start a save if one is due and none is running."""
        if self.left:
            return
        self.until = time.monotonic() + self.interval
        if self._save is None or not self._save.is_alive():
            self._save = Thread(target=self.beat, name="save")
            self._save.start()


def ended(status: int) -> Ended:
    return Ended(0, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Ended(os.WEXITSTATUS(status))


def check_command(name: str) -> None:
    """Refuse a command that cannot start, before anything is recorded about it."""
    if shutil.which(name) is None:
        raise _unstarted(name, errno.EACCES if os.path.dirname(name) and os.path.exists(name) else errno.ENOENT)


def _unstarted(name: str, number: int) -> NotFound | Refused:
    if number == errno.ENOENT:
        return NotFound(f"There is no command {name}", [], ["look at the spelling, and at PATH"])
    return Refused(f"{name} cannot be run", [("error", os.strerror(number))], ["`chmod +x`"])


UNFOUND = 127  # as in shells
OURS = (signal.SIGPIPE, signal.SIGXFSZ)  # ignored by Python; those ignored by our parent stay so, as with `nohup`
STATUS = struct.Struct("i")
HIGHEST = 4096  # our descriptors are all below


def lead(command: Sequence[str], environ: dict[str, str], told: int, failed: int) -> NoReturn:
    """In the session leader: start the command in the foreground; report its pid and every change of its status.

    The command cannot be the leader itself: the kernel never stops a process whose group is orphaned.
    """
    try:
        last = 2
        for number in (*sorted((told, failed)), HIGHEST):  # close all other descriptors
            os.closerange(last + 1, number)
            last = number
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            _bring_to_front(os.getpid())
            become(command, environ, failed)
        os.close(failed)
        signal.signal(signal.SIGHUP, lambda *_: hang_up(child))
        os.write(told, STATUS.pack(child))
        _wait(child, told)
    finally:
        os._exit(UNFOUND)


def _wait(child: int, told: int) -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):  # a foreground group left behind would get a hang-up with us
            with contextlib.suppress(OSError):
                _bring_to_front(os.getpgrp())
        with contextlib.suppress(OSError):
            os.write(told, STATUS.pack(status))
        if not os.WIFSTOPPED(status):
            os._exit(0)


def become(command: Sequence[str], environ: dict[str, str], failed: int) -> NoReturn:
    """Exec the command, or report the error."""
    try:
        for number in OURS:
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(command[0], list(command), environ)
    except (OSError, ValueError) as error:  # an empty name, or one with a NUL
        os.write(failed, str(getattr(error, "errno", None) or errno.ENOENT).encode())
    finally:
        os._exit(UNFOUND)


def hang_up(pid: int) -> None:
    """Signal a hang-up as the kernel would, also to a stopped process."""
    for number in (signal.SIGHUP, signal.SIGCONT):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _bring_to_front(group: int) -> None:
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # else the request would stop us
    os.tcsetpgrp(0, group)
    signal.signal(signal.SIGTTOU, before)
