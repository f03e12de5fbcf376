"""Pager for long output on a terminal, selected as git selects its own.

The repository's configuration is not asked: a repository that was copied must not choose a program that runs.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable

from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.terminal import Line
from holdfast.system import process
from holdfast.system.git.command import find_program

PLAIN = ("", "cat")  # pagers that page nothing
DEFAULTS = {"LESS": "FRX", "LV": "-c"}  # as git sets them: stay only if it is longer than a screen, show colours
DEADLINE = 5.0


class _Screen(io.StringIO):
    """Text that will be shown on a terminal."""

    def isatty(self) -> bool:
        return True


def page(lines: Iterable[Line], root: str) -> None:
    """Print lines; on a terminal through the user's pager."""
    command = _find_pager(root) if sys.stdout.isatty() else None
    if command is None:
        terminal.emit(lines)
        return
    screen = _Screen()
    terminal.emit(lines, screen)
    sys.stdout.flush()
    if not process.show_in_pager(command, screen.getvalue(), DEFAULTS | os.environ):
        sys.stdout.write(screen.getvalue())


def _find_pager(root: str) -> str | None:
    if os.environ.get("TERM", "dumb") == "dumb":
        return None
    git = find_program("git", os.environ.get("PATH", os.defpath), root)
    environ = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    command = process.ask(["git", "var", "GIT_PAGER"], environ, DEADLINE, git) if git else None
    return command.strip() if command and command.strip() not in PLAIN else None
