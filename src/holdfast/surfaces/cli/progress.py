"""Progress of long work: a bar on a terminal, plain lines elsewhere, nothing for machines or short work."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 0.7  # seconds before anything is shown
INTERVAL = 2.0  # seconds between two plain lines


class Reporter:
    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._begun = time.monotonic()
        self._last = 0.0
        self._bar: Any = None

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._shown or now - self._begun < PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(what, done, total)
        elif now - self._last >= INTERVAL:
            self._last = now
            sys.stderr.write(f"{what}: {done:,} of {total:,}\n" if total else f"{what}: {done:,}\n")
            sys.stderr.flush()

    def _draw(self, what: str, done: int, total: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(what, total=total or None)
        self._bar.update(self._task, description=what, completed=done, total=total or None)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
