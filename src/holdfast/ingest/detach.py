"""Start the background work after a hook call. Hooks load this, so it uses only built-in modules."""

import posix
import sys


def go_on_later(directory: str = "", call: str = "") -> None:
    """Start `holdfast hook later` in a process session of its own, which outlives the agent."""
    nowhere = [(posix.POSIX_SPAWN_OPEN, number, "/dev/null", posix.O_RDWR, 0) for number in range(3)]
    command = [sys.executable, "-I", "-m", "holdfast", "hook", "later", directory, call]
    posix.posix_spawn(sys.executable, command, posix.environ, file_actions=nowhere, setsid=True)
