"""A command that we supervise: in the user's terminal as if nobody stood between, and judged when it is over.

On a terminal it gets one of its own, and every byte, size and signal is passed through; elsewhere it has our own
descriptors. It does not outlive us unnoticed: its terminal closes with us, and without one the kernel tells it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import TypeVar

from holdfast.system.pty.child import CHUNK, TYPED, Beats, Child, Ended, ended
from holdfast.system.pty.relay import OnTerminal
from holdfast.system.pty.session_leader import become

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
