"""The client as a person has it: on a terminal, typed into, interrupted, closed."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from pathlib import Path

PATIENCE = 20.0
TRIES = 3
ESCAPE = "\x1b"
CONTROL_C, CONTROL_U = "\x03", "\x15"
SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_78=>])|\s")


class Interactive:
    """`with Interactive(command, …) as claude:` starts it; leaving kills it."""

    def __init__(
        self, command: list[str], directory: Path, env: dict[str, str], size: tuple[int, int] = (60, 250)
    ) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.process = subprocess.Popen(
            command, cwd=directory, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.shown = ""  # as it came
        self._changed = threading.Condition()
        self._over = False
        self.sent = 0
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    @property
    def screen(self) -> str:
        """All that was ever shown, without colours, movements and blanks: those differ from one drawing to another."""
        return SEQUENCE.sub("", self.shown)

    def wait_for(self, text: str, since: int = 0) -> None:
        """Until this was shown, after so many characters of the screen."""
        wanted = SEQUENCE.sub("", text)
        with self._changed:
            found = self._changed.wait_for(lambda: wanted in self.screen[since:] or self._over, PATIENCE)
        assert found, f"it never showed {text!r}:\n{self.screen[-3000:]}"
        assert wanted in self.screen[since:], f"it ended without showing {text!r}:\n{self.screen[-3000:]}"

    def type(self, text: str) -> None:
        """Type a line. It is sent once it stands there: sent in one go, it would count as pasted."""
        since = len(self.screen)
        self.press(text)
        self.wait_for(text[-12:], since)
        self.sent = len(self.screen)
        self.press("\r")

    def wait_until_idle(self) -> None:
        """Until what was typed last is done, hooks included: before that, an interruption would mean the turn."""
        self.wait_for("? for shortcuts", self.sent)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def press_until(self, keys: str, has_happened: Callable[[], bool]) -> None:
        """Press keys, and again where nothing came of it: a question is drawn before the client listens for answers."""
        for _ in range(TRIES):
            self.press(keys)
            if has_happened():
                return
        raise AssertionError(f"nothing came of {keys!r}:\n{self.screen[-3000:]}")

    def finish(self) -> int:
        """Wait for its end; answers with the exit code."""
        return self.process.wait(PATIENCE)

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := self._chunk():
            with self._changed:
                self.shown += decoder.decode(chunk)
                self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _chunk(self) -> bytes:
        ready, _, _ = select.select([self._master, self._stop], [], [])
        if self._master not in ready:
            return b""
        try:
            return os.read(self._master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux says that nobody holds the other end any more
                raise
            return b""

    def __enter__(self) -> Interactive:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._stopped)
        self._thread.join()
        for number in (self._master, self._stop):
            os.close(number)
