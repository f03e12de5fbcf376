"""The `holdfast` command line: plain lines are read at once, all others by the click library."""

from __future__ import annotations

from holdfast.surfaces.cli import runner
from holdfast.surfaces.cli.call import carry_out
from holdfast.surfaces.cli.reader import read


def run(arguments: list[str]) -> int:
    """Run one command; answers with the exit code."""
    return runner.run(arguments, _act)


def _act(arguments: list[str]) -> int:
    if plain := read(arguments):
        line, typed, manner = plain
        return runner.answer(lambda workspace: carry_out(workspace, line, typed, manner), manner)
    from holdfast.surfaces.cli.parser import invoke

    return invoke(arguments)
