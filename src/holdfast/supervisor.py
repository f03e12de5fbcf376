"""A command that we supervise: in the user's terminal as if nobody stood between, and judged when it is over.

On a terminal it gets one of its own, and every byte, size and signal is passed through; elsewhere it has our own
descriptors. It does not outlive us unnoticed: its terminal closes with us, and without one the kernel tells it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import NamedTuple

from holdfast.errors import NotFound, Refused

CHUNK = 1 << 16
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
PR_SET_PDEATHSIG = 1
UNFOUND, UNRUNNABLE = 127, 126  # as shells say it


class Ended(NamedTuple):
    """How a command ended: with a code, or by a signal."""

    code: int
    signal: int | None = None

    @property
    def exit_code(self) -> int:
        return 128 + self.signal if self.signal is not None else self.code


def supervise(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    begun: Callable[[int], None],
    beat: Callable[[], None],
    interval: float,
) -> Ended:
    """Run a command to its end. `begun` is told its process; `beat` is called whenever the interval is over."""
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    supervision = _OnTerminal if has_terminal else _Plain
    with supervision(list(command), dict(environ)) as child, _forwarding(child):
        begun(child.pid)
        return child.watch(beat, interval)


class _Child:
    """A process that was started, and is waited for."""

    pid: int

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.ended: Ended | None = None
        reading, writing = os.pipe()
        os.set_inheritable(writing, False)
        self.pid = self.fork()
        if self.pid == 0:
            _become(command, environ, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            failure = told.read()
        if failure:
            os.waitpid(self.pid, 0)
            self.close()
            raise _unstarted(command[0], int(failure))

    def fork(self) -> int:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        raise NotImplementedError

    def forward(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def look(self) -> Ended | None:
        """How it ended, if it has. One that was stopped stops us too, and goes on when we do."""
        if self.ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self.stop()
            elif pid:
                was_killed = os.WIFSIGNALED(status)
                self.ended = Ended(0, os.WTERMSIG(status)) if was_killed else Ended(os.WEXITSTATUS(status))
        return self.ended

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        self.forward(signal.SIGCONT)


class _Plain(_Child):
    """A child with our own descriptors. What a terminal sends it, it has already: it sends that to all of us."""

    def forward(self, number: int) -> None:
        if not (number in (signal.SIGINT, signal.SIGQUIT) and sys.stdin.isatty()):
            super().forward(number)

    def fork(self) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _die_with(parent)
        return pid

    def close(self) -> None:
        pass

    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        with _woken() as wake:
            until = time.monotonic() + interval
            while (ended := self.look()) is None:
                ready, _, _ = select.select([wake], [], [], max(0.0, until - time.monotonic()))
                if ready:
                    os.read(wake, CHUNK)
                if time.monotonic() >= until:
                    beat()
                    until = time.monotonic() + interval
            return ended


class _OnTerminal(_Child):
    """A child with a terminal of its own, which ours shows and feeds."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.before = termios.tcgetattr(0)
        self.master = -1
        super().__init__(command, environ)
        tty.setraw(0)

    def fork(self) -> int:
        size = _size()
        pid, master = os.forkpty()
        if pid == 0:
            termios.tcsetattr(0, termios.TCSANOW, self.before)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        else:
            self.master = master
            os.set_inheritable(master, False)
        return pid

    def close(self) -> None:
        termios.tcsetattr(0, termios.TCSADRAIN, self.before)
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def stop(self) -> None:
        termios.tcsetattr(0, termios.TCSADRAIN, self.before)
        super().stop()
        tty.setraw(0)
        self.resize()

    def resize(self) -> None:
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, _size())

    def forward(self, number: int) -> None:
        """To everybody in the foreground of its terminal, as a terminal would."""
        try:
            group = os.tcgetpgrp(self.master)
        except OSError:
            group = 0
        if group > 0:  # nobody is in the foreground of a terminal that is being closed, and 0 would mean ourselves
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
        else:
            super().forward(number)

    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        with _woken() as wake, _on(signal.SIGWINCH, self.resize):
            until = time.monotonic() + interval
            sources = [0, self.master, wake]
            while True:
                ready, _, _ = select.select(sources, [], [], max(0.0, until - time.monotonic()))
                if wake in ready:
                    os.read(wake, CHUNK)
                for source in (0, self.master):
                    if source in ready and not self.pass_on(source):
                        sources.remove(source)
                if (ended := self.look()) is not None and self.master not in sources:
                    return ended
                if ended is not None and self.master not in ready:
                    return ended
                if time.monotonic() >= until:
                    beat()
                    until = time.monotonic() + interval

    def pass_on(self, source: int) -> bool:
        """Copy what one side has to say to the other; False where it has said all."""
        try:
            data = os.read(source, CHUNK)
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux says that nobody holds the other end any more
                raise
            data = b""
        if not data:
            return False
        target = self.master if source == 0 else 1
        while data:
            data = data[os.write(target, data) :]
        return True


def _size() -> bytes:
    return fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))


def _become(command: list[str], environ: dict[str, str], told: int) -> None:
    """In the child: become the command, or tell why that is not possible."""
    try:
        for number in FORWARDED:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvpe(command[0], command, environ)
    except OSError as error:
        os.write(told, str(error.errno or 0).encode())
    finally:
        os._exit(UNFOUND)


def _unstarted(name: str, number: int) -> NotFound | Refused:
    if number == errno.ENOENT:
        return NotFound(f"There is no command {name}", [], ["look at the spelling, and at PATH"])
    return Refused(f"{name} cannot be run", [("error", os.strerror(number))], ["`chmod +x`"])


def _die_with(parent: int) -> None:
    """In the child: let the kernel tell us when the supervisor is gone."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGHUP)
    if os.getppid() != parent:
        os._exit(UNRUNNABLE)


@contextlib.contextmanager
def _woken() -> Iterator[int]:
    """A descriptor that can be read from whenever a child has changed."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    earlier = signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        yield reading
    finally:
        signal.signal(signal.SIGCHLD, earlier)
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


@contextlib.contextmanager
def _on(number: int, act: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(number, before)


@contextlib.contextmanager
def _forwarding(child: _Child) -> Iterator[None]:
    """What we are told to do, the command is told to do."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        child.forward(number)

    before = {number: signal.signal(number, pass_on) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
