"""Choosing one of several on a terminal: arrow keys, letters that narrow the list, Enter, Esc.

What is drawn goes to standard error, and nothing of it stays. Where a terminal cannot draw, others ask by number.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.core.errors import Interrupted
from holdfast.core.text import one_line

ROWS = 12  # choices that are shown at once
PATIENCE = 0.05  # seconds within which the rest of a key's sequence comes
ESCAPE, ENTER, ERASE, CLEAR = "escape", "enter", "erase", "clear"
UP, DOWN, PAGE_UP, PAGE_DOWN = "up", "down", "page up", "page down"
CONTROLS = {
    "\r": ENTER, "\n": ENTER, "\x7f": ERASE, "\x08": ERASE, "\x15": CLEAR, "\x10": UP, "\x0e": DOWN, "\x04": ESCAPE,
}  # fmt: skip
SEQUENCES = {"[A": UP, "OA": UP, "[B": DOWN, "OB": DOWN, "[5~": PAGE_UP, "[6~": PAGE_DOWN}
STEPS = {UP: -1, DOWN: 1, PAGE_UP: -ROWS, PAGE_DOWN: ROWS}
HELP = "↑ ↓ choose, letters narrow, Enter takes, Esc leaves"


class Choice(Struct, frozen=True):
    name: str
    about: str

    @property
    def line(self) -> str:
        return one_line(f"{self.name}  {self.about}", 300)


class Choosing:
    """What was typed, and which choice is lit; no terminal in it."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self.choices = choices
        self.typed = ""
        self.at = 0

    @property
    def fitting(self) -> list[Choice]:
        words = self.typed.casefold().split()
        return [choice for choice in self.choices if all(word in choice.line.casefold() for word in words)]

    def press(self, key: str) -> Choice | None:
        """Answers with the choice that was taken, if one was."""
        fitting = self.fitting
        if key == ENTER:
            return fitting[self.at] if fitting else None
        if key in STEPS:
            self.at = max(0, min(len(fitting) - 1, self.at + STEPS[key]))
        else:
            self.typed = {ERASE: self.typed[:-1], CLEAR: ""}.get(key, self.typed + key if len(key) == 1 else self.typed)
            self.at = 0
        return None

    def lines(self, title: str, height: int) -> list[str]:
        """What is drawn: the lit choice has a mark, and is always among those shown."""
        fitting = self.fitting
        rows = max(1, min(ROWS, height - 3))
        first = max(0, min(self.at - rows // 2, len(fitting) - rows))
        shown = fitting[first : first + rows]
        drawn = [("> " if first + number == self.at else "  ") + choice.line for number, choice in enumerate(shown)]
        below = f"{len(fitting)} of {len(self.choices)}: {HELP}"
        return [f"{title} {self.typed}", *(drawn or ["  nothing fits"]), below]


def can_pick() -> bool:
    """True if there is a terminal that can draw."""
    is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "")
    return not is_dumb and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def pick(title: str, choices: Sequence[Choice]) -> str:
    """The name of the choice that somebody takes."""
    choosing = Choosing(choices)
    with _keys_at_once(), _drawing(title, choosing) as draw:
        for key in _keys(sys.stdin.fileno()):
            if key == ESCAPE:
                break
            if taken := choosing.press(key):
                return taken.name
            draw()
    raise Interrupted("Nothing was chosen")


@contextlib.contextmanager
def _keys_at_once() -> Iterator[None]:
    """Keys come as they are pressed, and are not shown. Ctrl-C stays what it is."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _drawing(title: str, choosing: Choosing) -> Iterator[_Screen]:
    screen = _Screen(title, choosing)
    before = signal.signal(signal.SIGWINCH, lambda *_: screen())
    screen()
    try:
        yield screen
    finally:
        signal.signal(signal.SIGWINCH, before)
        screen.clear()


class _Screen:
    """What is drawn, drawn anew with each call; also with one that a signal makes in the middle of another."""

    def __init__(self, title: str, choosing: Choosing) -> None:
        self.title, self.choosing, self.below = one_line(title, 200), choosing, 0
        self._calls = self._done = 0

    def __call__(self) -> None:
        self._calls += 1
        if self._calls > self._done + 1:
            return  # whoever is drawing will see it
        while self._done < self._calls:
            calls = self._calls
            self._draw()
            self._done = calls

    def _draw(self) -> None:
        from rich.cells import set_cell_size  # knows how wide a character is

        size = _size()
        lines = self.choosing.lines(self.title, size.lines)
        fitted = [set_cell_size(line, max(1, size.columns - 1)).rstrip() for line in lines]
        self.clear()
        sys.stderr.write("\n".join(fitted))
        sys.stderr.flush()
        self.below = len(fitted) - 1

    def clear(self) -> None:
        up = f"\x1b[{self.below}A" if self.below else ""
        sys.stderr.write(f"\r{up}\x1b[J")
        sys.stderr.flush()
        self.below = 0


def _size() -> os.terminal_size:
    """Of the terminal that is drawn on, which may have changed since somebody put it into the environment."""
    import shutil  # slow to load, and every command loads this module

    size = os.get_terminal_size(sys.stderr.fileno())
    return size if size.columns and size.lines else shutil.get_terminal_size()


def _keys(descriptor: int) -> Iterator[str]:
    """Keys as they are pressed; the end of input is Esc."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := os.read(descriptor, 1):
        if data == b"\x1b":
            yield _sequence(descriptor)
        elif letter := decoder.decode(data):
            key = CONTROLS.get(letter, letter)
            if len(key) > 1 or key.isprintable():
                yield key
    yield ESCAPE


def _sequence(descriptor: int) -> str:
    """A key that sends several characters, or Esc, which sends one; nothing for a key that means nothing here."""
    rest = b""
    while len(rest) < 8 and select.select([descriptor], [], [], PATIENCE)[0]:
        data = os.read(descriptor, 1)
        rest += data
        if not data or (len(rest) > 1 and data[-1:].isalpha()) or data == b"~":
            break
    return SEQUENCES.get(rest.decode("ascii", "replace"), "") if rest else ESCAPE
