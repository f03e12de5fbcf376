"""A command that was started and is waited for: how it is told something, when a save is due, and how it ended.

A program that catches a signal exits with a code, so how it ended does not tell why. What asked it to end is noted
here, where the signals, the keys and the end of the terminal pass through.
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
TYPED = (signal.SIGINT, signal.SIGQUIT)  # what a terminal sends for keys
FINAL = (signal.SIGHUP, signal.SIGTERM)  # signals that ask for the end; Ctrl-C may only ask a turn or a job to end
SOON = 15.0  # seconds in which a command that Ctrl-C ends has left: its hooks may need some of them


class Ended(NamedTuple):
    """How a command ended, with a code or by a signal, and the signal that asked it to end."""

    code: int
    signal: int | None = None
    asked: int | None = None

    @property
    def cause(self) -> int | None:
        """The signal that ended the command, whether it caught it or not. Ctrl-C explains no death by another one."""
        return self.asked if self.asked in FINAL or self.signal is None else self.signal

    @property
    def exit_code(self) -> int:
        return 128 + self.signal if self.signal is not None else self.code


class Child(ABC):
    """A process that was started, and is waited for."""

    pid: int

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.asked: int | None = None  # the first signal that asked for the end
        self.interrupted: float | None = None  # when Ctrl-C came, if nothing was typed since
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
        """Start the command, and answer with its process; what keeps it from starting goes into `failed`."""

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
        """Wait for its end, with a save whenever the interval is over."""

    def tell(self, number: int) -> None:
        """Pass on a signal that we were sent. After the command's end its pid may be another process's."""
        self.note(number)
        if not self.is_over:
            self.forward(number)

    def note(self, number: int) -> None:
        """Remember what asks the command to end."""
        if self.is_over:
            return
        if number in FINAL:
            self.asked = self.asked or number
        elif number == signal.SIGINT:
            self.interrupted = time.monotonic()

    def conclude(self, over: Ended) -> Ended:
        """How the command ended, with what asked it to."""
        self.is_over = True
        is_interrupted = self.interrupted is not None and time.monotonic() - self.interrupted < SOON
        return over._replace(asked=self.asked or (int(signal.SIGINT) if is_interrupted else None))

    def forward(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Beats:
    """Saves, one at a time, beside whatever is watched: waiting for another writer must not hold up a key or a line."""

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
        """Begin a save if one is due. One that takes longer than the interval is the next one too."""
        if self.left:
            return
        self.until = time.monotonic() + self.interval
        if self._save is None or not self._save.is_alive():
            self._save = Thread(target=self.beat, name="save")
            self._save.start()


def ended(status: int) -> Ended:
    return Ended(0, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Ended(os.WEXITSTATUS(status))


def check_command(name: str) -> None:
    """Refuse what cannot be started, before anything is written down about it."""
    if shutil.which(name) is None:
        raise _unstarted(name, errno.EACCES if os.path.dirname(name) and os.path.exists(name) else errno.ENOENT)


def _unstarted(name: str, number: int) -> NotFound | Refused:
    if number == errno.ENOENT:
        return NotFound(f"There is no command {name}", [], ["look at the spelling, and at PATH"])
    return Refused(f"{name} cannot be run", [("error", os.strerror(number))], ["`chmod +x`"])


UNFOUND = 127  # as shells say it
OURS = (signal.SIGPIPE, signal.SIGXFSZ)  # that Python ignores; what somebody else ignores stays so, as with `nohup`
STATUS = struct.Struct("i")
HIGHEST = 4096  # no descriptor of ours is above it


def lead(command: Sequence[str], environ: dict[str, str], told: int, failed: int) -> NoReturn:
    """In the first process: start the command in front of the terminal; tell its number, and each change of it.

    The command cannot be the first process itself: the kernel stops no process whose group has no parent in the same
    terminal to start it again.
    """
    try:
        _close_all_but(told, failed)
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
        if not os.WIFSTOPPED(status):  # whoever is left in front would be hung up with us
            with contextlib.suppress(OSError):
                _bring_to_front(os.getpgrp())
        with contextlib.suppress(OSError):
            os.write(told, STATUS.pack(status))
        if not os.WIFSTOPPED(status):
            os._exit(0)


def become(command: Sequence[str], environ: dict[str, str], failed: int) -> NoReturn:
    """Become the command, or tell why that is not possible."""
    try:
        for number in OURS:
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(command[0], list(command), environ)
    except (OSError, ValueError) as error:  # a name that is empty, or has a NUL in it, is none
        os.write(failed, str(getattr(error, "errno", None) or errno.ENOENT).encode())
    finally:
        os._exit(UNFOUND)


def hang_up(pid: int) -> None:
    """Tell a process that its terminal is gone, as the kernel would: also one that stands still."""
    for number in (signal.SIGHUP, signal.SIGCONT):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _bring_to_front(group: int) -> None:
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # else asking for it would stop us
    os.tcsetpgrp(0, group)
    signal.signal(signal.SIGTTOU, before)


def _close_all_but(*kept: int) -> None:
    last = 2
    for number in (*sorted(kept), HIGHEST):
        os.closerange(last + 1, number)
        last = number
