"""The first process of a terminal that we made: it starts the command there, waits for it, and tells how it fares.

A command that were the first process itself could not be stopped: the kernel stops nobody whose group has no parent in
the same terminal to start it again. Nothing else happens here, and nothing is decided.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import struct
from collections.abc import Sequence
from typing import NoReturn

UNFOUND = 127  # as shells say it
OURS = (signal.SIGPIPE, signal.SIGXFSZ)  # that Python ignores; what somebody else ignores stays so, as with `nohup`
STATUS = struct.Struct("i")
HIGHEST = 4096  # no descriptor of ours is above it


def lead(command: Sequence[str], environ: dict[str, str], told: int, failed: int) -> NoReturn:
    """In the first process: start the command in front of the terminal; tell its number, and each change of it."""
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
