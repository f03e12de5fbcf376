"""A process of its own that records actions through the library: `python -m bench.writer PROJECT NAME COUNT`.

It says `ready`, waits until standard input ends, so that many can begin at once, and prints the seconds of each write.
With 0 as the count it writes until it is stopped, and prints nothing.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import holdfast
from bench.timing import timed

CHECKOUT = Path(__file__).parent.parent


class Writer:
    """One such process, seen from the one that measures."""

    def __init__(self, project: Path, name: str, count: int = 0) -> None:
        arguments = [sys.executable, "-m", "bench.writer", str(project), name, str(count)]
        self.process = subprocess.Popen(
            arguments, cwd=CHECKOUT, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def let_go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def finish(self) -> list[float]:
        """Wait for its end; answers with the seconds of each write."""
        return [float(line) for line in self.process.communicate()[0].split()]

    def stop(self) -> bool:
        """End it; False where it had ended already."""
        was_writing = self.process.poll() is None
        self.process.kill()
        self.process.communicate()
        return was_writing


def write(project: str, name: str, count: int) -> None:
    with holdfast.open(project) as workspace:
        holdfast.status(workspace)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()
        for number in range(count) if count else itertools.count():
            seconds = timed(partial(holdfast.action, workspace, f"{name} {number}"))
            if count:
                sys.stdout.write(f"{seconds}\n")


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
