"""The `holdfast` command line. Loading the click library takes as long as a checkpoint, so plain lines are read here.

Plain are words, options with a value, flags. Everything else is left to click, and so is whatever is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from holdfast.operations.commands import ALIASES, is_command
from holdfast.operations.parameters import Kind, Parameter, is_given
from holdfast.surfaces.cli import runner
from holdfast.surfaces.cli.call import carry_out
from holdfast.surfaces.cli.command_line import MANNERS, CommandLine, Typed, command_line, take_manner
from holdfast.surfaces.cli.runner import Manner

SPECIAL = (Kind.COMMAND, Kind.LINE)


Read = tuple[CommandLine, dict[str, Any], Manner]


def run(arguments: list[str]) -> int:
    """Run one command; answers with the exit code."""
    return runner.run(arguments, _act)


def _act(arguments: list[str]) -> int:
    if plain := read(arguments):
        line, typed, manner = plain
        return runner.answer(lambda workspace: carry_out(workspace, line, typed, manner), manner)
    from holdfast.surfaces.cli.parser import invoke

    return invoke(arguments)


def read(arguments: list[str]) -> Read | None:
    """The command line that these arguments plainly are; None where the whole command line is needed."""
    if not arguments or "_HOLDFAST_COMPLETE" in os.environ or "--" in arguments:
        return None
    word, *rest = arguments
    path = ALIASES.get(word, word)
    if rest and not is_command(path):
        path, rest = f"{path} {rest[0]}", rest[1:]
    if not is_command(path):
        return None
    line = command_line(path, alone=True)
    found = read_arguments(rest, line.parameters)
    return (line, *found) if found else None


def read_arguments(arguments: list[str], parameters: list[Parameter]) -> tuple[dict[str, Any], Manner] | None:
    if any(parameter.kind in SPECIAL for parameter in parameters):
        return None
    options = {name: parameter for parameter in (*parameters, *MANNERS) for name in parameter.names}
    words: list[str] = []
    typed: dict[str, Any] = {}
    waiting = iter(arguments)
    for argument in waiting:
        if argument.startswith("-"):
            if not _read_option(argument, waiting, options, typed):
                return None
        elif argument:
            words.append(argument)
        else:
            return None
    if not _place(words, parameters, typed) or not _is_whole(parameters, typed):
        return None
    return typed, take_manner(typed)


def _read_option(argument: str, waiting: Iterator[str], options: dict[str, Parameter], typed: dict[str, Any]) -> bool:
    name, has_value, value = argument.partition("=")
    parameter = options.get(name)
    if parameter is None or (has_value and (parameter.is_flag or not name.startswith("--"))):
        return False
    if parameter.is_flag:
        typed[parameter.target] = True
        return True
    text = value if has_value else next(waiting, None)
    found = None if text is None else _checked(parameter, text)
    if found is None:
        return False
    typed[parameter.target] = (*typed.get(parameter.target, ()), found) if parameter.many else found
    return True


def _checked(parameter: Parameter, text: str) -> str | int | None:
    """A value that is surely one; None leaves it to the whole command line."""
    if parameter.kind is Kind.NUMBER:
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            return None
        number = int(text)
        is_inside = (parameter.least is None or parameter.least <= number) and (
            parameter.most is None or number <= parameter.most
        )
        return number if is_inside else None
    return text if not parameter.choices or text in parameter.choices else None


def _place(words: list[str], parameters: list[Parameter], typed: dict[str, Any]) -> bool:
    """Give each argument its word, and the one that takes several the rest."""
    left = list(words)
    for parameter in (each for each in parameters if each.is_argument):
        if parameter.many or parameter.kind is Kind.WORDS:
            found = [_checked(parameter, word) for word in left]
            if None in found:
                return False
            typed[parameter.target], left = tuple(found), []
        elif left:
            value = _checked(parameter, left.pop(0))
            if value is None:
                return False
            typed[parameter.target] = value
        elif parameter.variable and (known := os.environ.get(parameter.variable)):
            typed[parameter.target] = known
    return not left


def _is_whole(parameters: list[Parameter], typed: Typed) -> bool:
    return all(is_given(typed.get(parameter.target)) for parameter in parameters if parameter.required)
