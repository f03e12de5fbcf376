"""A command that we supervise: in the user's terminal as if nobody stood between, and judged when it is over.

On a terminal it gets one of its own, and every byte, size and signal is passed through; elsewhere it has our own
descriptors. It does not outlive us unnoticed: its terminal closes with us, and without one the kernel tells it.
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
from types import FrameType
from typing import TypeVar

from holdfast.system.pty.child import CHUNK, STATUS, TYPED, Beats, Child, Ended, become, ended, hang_up, lead

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
PR_SET_PDEATHSIG = 1
UNRUNNABLE = 126  # as shells say it

T = TypeVar("T")


def supervise(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    beat: Callable[[], None],
    interval: float,
    judge: Callable[[Ended], T],
) -> T:
    """Run a command to its end, and answer with what `judge` makes of it. `beat` is called whenever the interval is
    over.

    While it is judged, signals do not end us: a terminal that is closed sends more than one.
    """
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty() and _is_in_front()
    supervision = OnTerminal if has_terminal else _Plain
    child = supervision(list(command), dict(environ))
    with _forwarding(child):
        with child:
            over = child.conclude(child.watch(beat, interval))
        return judge(over)


class _Plain(Child):
    """A child with our own descriptors. What a terminal sends it, it has already: it sends that to all of us."""

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
    """Whether we have the terminal, and are not one of its jobs in the background."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # nobody's; so we can have it
        return True


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
def _forwarding(child: Child) -> Iterator[None]:
    """What we are told to do, the command is told to do."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        child.tell(number)

    heard = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]  # as with `nohup`
    before = {number: signal.signal(number, pass_on) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


REST = 256  # looks at a terminal whose command is over: more than the kernel can hold
CONTROL_C = (b"\x03", b"\x1b[99;5u", b"\x1b[27;5;99~")  # plain, and in the two forms that programs can ask for
SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_][^\x07\x1b]*(?:\x07|\x1b\\))")


class OnTerminal(Child):
    """A child with a terminal of its own, which ours shows and feeds."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self.before = termios.tcgetattr(0)
        self.master = self.told = self.monitor = -1
        self.typed = b""  # and not yet taken
        self.is_there = True  # our own terminal, and with it the command's
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
        """Let our own terminal pass on every key. What was typed already stays."""
        with contextlib.suppress(termios.error):
            tty.setraw(0, termios.TCSADRAIN)

    def give_back(self) -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, self.before)

    def resize(self) -> None:
        if self.is_there:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, _size())

    def forward(self, number: int) -> None:
        """What is typed goes to all in front, as from any terminal; the rest to the command, as if it were told."""
        if number in TYPED or number == signal.SIGHUP:
            self.tell_front(number)
        if number == signal.SIGHUP:
            hang_up(self.pid)
        elif number not in TYPED:
            super().forward(number)

    def tell_front(self, number: int) -> None:
        group = os.tcgetpgrp(self.master) if self.is_there else 0
        if group > 0:  # nobody is in front of a terminal that is being closed, and 0 would mean ourselves
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)

    def watch(self, beat: Callable[[], None], interval: float) -> Ended:
        with _on(signal.SIGWINCH, self.resize), Beats(beat, interval) as beats:
            while True:
                ready, able, _ = select.select(*self.sides(), [], beats.left)
                if self.told in ready and (over := self.look()) is not None:
                    self.show_rest()
                    return over
                if self.is_there and self.master in ready:
                    self.show()
                if self.is_there and able:
                    self.feed()
                if self.is_there and 0 in ready:
                    self.hear()
                beats.keep()

    def sides(self) -> tuple[list[int], list[int]]:
        """From whom something is wanted, and to whom something is to be given."""
        if not self.is_there:
            return [self.told], []
        hears = [0] if len(self.typed) < CHUNK else []
        return [*hears, self.master, self.told], [self.master] if self.typed else []

    def look(self) -> Ended | None:
        """How it ended, if it has. One that was stopped stops us too, and goes on when we do.

        One whose terminal was closed may see the end of its input before it sees the signal, and leave with a code.
        """
        told = os.read(self.told, STATUS.size)
        if told and os.WIFSTOPPED(status := STATUS.unpack(told)[0]):
            self.stop()
            return None
        _, monitored = os.waitpid(self.monitor, 0)
        over = ended(status if told else monitored)
        if not self.is_there or not _is_open():
            self.note(signal.SIGHUP)
        return over

    def stop(self) -> None:
        """Stop all whom our terminal would have stopped. Where nobody could start us again, that does nothing."""
        self.show_rest()
        self.give_back()
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        self.take()
        self.resize()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def hear(self) -> None:
        """Take what was typed. Where there is nothing to take, our terminal is gone."""
        try:
            data = os.read(0, CHUNK)
        except BlockingIOError:  # somebody who has our terminal too wants it so
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
        """Our terminal is gone, so the command's goes as well: the kernel tells all who are on it."""
        self.note(signal.SIGHUP)
        self.is_there = False
        os.close(self.master)

    def feed(self) -> None:
        """Give on what was typed, as much as is taken: it may be waiting for us to show something."""
        with contextlib.suppress(BlockingIOError):
            self.typed = self.typed[os.write(self.master, self.typed) :]

    def show(self) -> bool:
        """Show what it says; False where there is nothing."""
        try:
            data = os.read(self.master, CHUNK)
        except OSError as error:
            if error.errno not in (errno.EIO, errno.EAGAIN):  # nobody holds the other end, as Linux says it
                raise
            return False
        try:
            while data:
                data = data[_write(data) :]
        except OSError:
            self.lose()
        return self.is_there

    def show_rest(self) -> None:
        """What it has said so far; one that it left behind may go on for ever."""
        for _ in range(REST):
            if not self.is_there or not select.select([self.master], [], [], 0)[0] or not self.show():
                return


def _write(data: bytes) -> int:
    """Write to our terminal, also where somebody who has it too wants nobody to wait for it."""
    try:
        return os.write(1, data)
    except BlockingIOError:
        select.select([], [1], [])
        return 0


def _typed(data: bytes) -> bytes:
    """The keys in what came from a terminal, which also answers questions and reports the mouse by itself."""
    return SEQUENCE.sub(lambda found: found[0] if found[0] in CONTROL_C else b"", data)


def _is_open() -> bool:
    """Whether our terminal is still there."""
    try:
        termios.tcgetattr(0)
    except termios.error:
        return False
    return True


def _size() -> bytes:
    try:
        return fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    except OSError:
        return struct.pack("HHHH", 24, 80, 0, 0)


@contextlib.contextmanager
def _on(number: int, act: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(number, before)
