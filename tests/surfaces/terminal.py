"""A program on a terminal of its own, as a person would have it before them."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

from holdfast.system.process import parse_stat

PATIENCE = 60.0  # seconds after which something that should have been said counts as never said


class Terminal:
    """`with Terminal("delete", run, directory=…) as terminal:` starts the command; leaving ends it."""

    def __init__(
        self, *arguments: str, directory: Path, env: dict[str, str] | None = None, program: list[str] | None = None
    ) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.process = subprocess.Popen(
            [*(program or [sys.executable, "-m", "holdfast"]), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=directory,
            env={**os.environ, "TERM": "xterm-256color", **(env or {})},
            start_new_session=True,
        )
        os.close(slave)
        self.seen = b""

    @property
    def text(self) -> str:
        return self.seen.decode("utf-8", "surrogateescape")

    def wait_for(self, text: str) -> None:
        """Read until this was said."""
        while text.encode() not in self.seen:
            assert self._read(), f"it ended without saying {text!r}:\n{self.text}"

    def type(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._master, data[:4096]) :]

    def modes(self) -> list[object]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._master)[:4]

    def resize(self, rows: int, columns: int) -> None:
        """Another size of the window, of which the program is told."""
        self._wait_until_it_waits()
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def close_window(self) -> None:
        """Take the terminal away from all who are on it."""
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDONLY)

    def press_control_c(self) -> None:
        self._wait_until_it_waits()
        self.process.send_signal(signal.SIGINT)

    def _wait_until_it_waits(self) -> None:
        """For an answer; a moment earlier, Python would note a signal and still wait."""
        while not self._sleeps():
            assert self.process.poll() is None

    def _sleeps(self) -> bool:
        found = parse_stat(Path(f"/proc/{self.process.pid}/stat").read_text())
        return found is not None and found[0] == "S"

    def finish(self) -> int:
        """Read to the end; answers with the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, f"it says nothing more:\n{self.text}"
        try:
            chunk = os.read(self._master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux says that nobody holds the other end any more
                raise
            return False
        self.seen += chunk
        return bool(chunk)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)


def on_a_terminal(*arguments: str, directory: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run one command to its end; answers with the exit code and all that stood on the screen."""
    with Terminal(*arguments, directory=directory, env=env) as terminal:
        return terminal.finish(), terminal.text
