"""Supervision of a command: transparent in the user's terminal, and judged at its end.

On a terminal the command gets a pty, and every byte, size and signal is passed through; elsewhere it shares our
descriptors. It does not outlive us unnoticed: its pty closes with us, and otherwise the kernel signals it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from holdfast.system.pty.child import CHUNK, STATUS, TYPED, Beats, Child, Ended, become, ended, hang_up, lead

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
PR_SET_PDEATHSIG = 1
UNRUNNABLE = 126  # as in shells

T = TypeVar("T")


def supervise(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    beat: Callable[[], None],
    interval: float,
    judge: Callable[[Ended], T],
) -> T:
    """Run a command to its end and return the result of `judge`. `beat` is called at every interval.

    During `judge` signals do not end us: a closed terminal sends more than one.
    """
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty() and _is_in_front()
    supervision = OnTerminal if has_terminal else _Plain
    child = supervision(list(command), dict(environ))
    # An ignored signal stays ignored, as with `nohup`.
    heard = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    with _handled(child.tell, *heard):
        with child:
            over = child.conclude(child.watch(beat, interval))
        return judge(over)


class _Plain(Child):
    """A child with our own descriptors. The terminal sends it signals for keys directly."""

    def forward(self, number: int) -> None:
        if not (number in TYPED and sys.stdin.isatty()):
            super().forward(number)

    def start(self, command: list[str], environ: dict[str, str], failed: int) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _die_with(parent)
            become(command, environ, failed)
        return pid

    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        with _woken() as wake, Beats(beat, interval) as beats:
            while True:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    return ended(status)
                ready, _, _ = select.select([wake], [], [], beats.left)
                if ready:
                    os.read(wake, CHUNK)
                beats.keep()


def _is_in_front() -> bool:
    """Return True if we are the terminal's foreground job."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # it has none, so we can take it
        return True


def _die_with(parent: int) -> None:
    """In the child: have the kernel send a hang-up when the supervisor dies."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGHUP)
    if os.getppid() != parent:
        os._exit(UNRUNNABLE)


@contextlib.contextmanager
def _woken() -> Iterator[int]:
    """Yield a descriptor that is readable when a child has changed."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        with _handled(lambda _: None, signal.SIGCHLD):
            yield reading
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


REST = 256  # reads after the end of the command: more than the kernel buffers
CONTROL_C = (b"\x03", b"\x1b[99;5u", b"\x1b[27;5;99~")  # plain, and in the two escaped forms
SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_][^\x07\x1b]*(?:\x07|\x1b\\))")


class OnTerminal(Child):
    """A child with a pty, connected to our terminal."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.before = termios.tcgetattr(0)
        self.master = self.told = self.monitor = -1
        self.typed = b""  # not yet written
        self.is_there = True  # our terminal, and with it the pty
        super().__init__(command, environ)
        self.take()

    def start(self, command: list[str], environ: dict[str, str], failed: int) -> int:
        self.told, telling = os.pipe()
        size = _size()
        self.monitor, self.master = os.forkpty()
        if self.monitor == 0:
            termios.tcsetattr(0, termios.TCSANOW, self.before)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            lead(command, environ, telling, failed)
        os.close(telling)
        os.set_inheritable(self.master, False)
        os.set_blocking(self.master, False)
        first = os.read(self.told, STATUS.size)
        return int(STATUS.unpack(first)[0]) if first else self.monitor

    def reap(self) -> None:
        os.waitpid(self.monitor, 0)

    def close(self) -> None:
        self.give_back()
        os.close(self.told)
        if self.is_there:
            os.close(self.master)

    def take(self) -> None:
        """Switch our terminal to raw mode. Typed input stays."""
        with contextlib.suppress(termios.error):
            tty.setraw(0, termios.TCSADRAIN)

    def give_back(self) -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, self.before)

    def resize(self) -> None:
        if self.is_there:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, _size())

    def forward(self, number: int) -> None:
        """Send signals of keys to the foreground group, as a terminal does; others to the command."""
        if number not in (*TYPED, signal.SIGHUP):
            super().forward(number)
            return
        group = os.tcgetpgrp(self.master) if self.is_there else 0
        if group > 0:  # a terminal being closed has no foreground group, and 0 would mean our own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
        if number == signal.SIGHUP:
            hang_up(self.pid)

    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        with _handled(lambda _: self.resize(), signal.SIGWINCH), Beats(beat, interval) as beats:
            while True:
                ready, able, _ = select.select(*self.sides(), [], beats.left)
                if self.told in ready and (over := self.look()) is not None:
                    self.show_rest()
                    return over
                if self.is_there and self.master in ready:
                    self.show()
                if self.is_there and able:
                    with contextlib.suppress(BlockingIOError):  # the command may wait for its output to be read
                        self.typed = self.typed[os.write(self.master, self.typed) :]
                if self.is_there and 0 in ready:
                    self.hear()
                beats.keep()

    def sides(self) -> tuple[list[int], list[int]]:
        if not self.is_there:
            return [self.told], []
        hears = [0] if len(self.typed) < CHUNK else []
        return [*hears, self.master, self.told], [self.master] if self.typed else []

    def look(self) -> Ended | None:
        """Return how the command ended, if it has. If it was stopped, stop as well, and continue with it.

        After a hang-up it may see the end of its input before the signal, and exit with a code.
        """
        told = os.read(self.told, STATUS.size)
        if told and os.WIFSTOPPED(status := STATUS.unpack(told)[0]):
            self.stop()
            return None
        _, monitored = os.waitpid(self.monitor, 0)
        over = ended(status if told else monitored)
        is_open = self.is_there
        try:
            termios.tcgetattr(0)
        except termios.error:
            is_open = False
        if not is_open:
            self.note(signal.SIGHUP)
        return over

    def stop(self) -> None:
        """Stop our process group. Without a parent that could continue us, this has no effect."""
        self.show_rest()
        self.give_back()
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        self.take()
        self.resize()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def hear(self) -> None:
        """Read typed input. End of input means that our terminal is gone."""
        try:
            data = os.read(0, CHUNK)
        except BlockingIOError:  # made non-blocking by another process
            return
        except OSError:
            data = b""
        self.typed += data
        if not data:
            self.lose()
        elif keys := _typed(data):
            self.interrupted = None
            if keys.endswith(CONTROL_C):
                self.note(signal.SIGINT)

    def lose(self) -> None:
        """Close the pty after our terminal is gone: the kernel signals its processes."""
        self.note(signal.SIGHUP)
        self.is_there = False
        os.close(self.master)

    def show(self) -> bool:
        """Copy output; False if there is none."""
        try:
            data = os.read(self.master, CHUNK)
        except OSError as error:
            if error.errno not in (errno.EIO, errno.EAGAIN):  # the other end is closed, as Linux reports it
                raise
            return False
        try:
            while data:
                data = data[_write(data) :]
        except OSError:
            self.lose()
        return self.is_there

    def show_rest(self) -> None:
        """Copy pending output, bounded: a background process may write forever."""
        for _ in range(REST):
            if not self.is_there or not select.select([self.master], [], [], 0)[0] or not self.show():
                return


def _write(data: bytes) -> int:
    """Write to our terminal, also if another process has made it non-blocking."""
    try:
        return os.write(1, data)
    except BlockingIOError:
        select.select([], [1], [])
        return 0


def _typed(data: bytes) -> bytes:
    """Return the keys in terminal input, without its replies and mouse reports."""
    return SEQUENCE.sub(lambda found: found[0] if found[0] in CONTROL_C else b"", data)


def _size() -> bytes:
    try:
        return fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    except OSError:
        return struct.pack("HHHH", 24, 80, 0, 0)


@contextlib.contextmanager
def _handled(act: Callable[[int], object], *numbers: int) -> Iterator[None]:
    """Handle these signals in the block."""
    before = {number: signal.signal(number, lambda number, _frame: act(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
