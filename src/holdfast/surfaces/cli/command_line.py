"""The command line of one command: its parameters with those of its variants, and the verb that typed values mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold.team import TEXT
from holdfast.core.text import one_line
from holdfast.operations.commands import load_verbs
from holdfast.operations.parameters import Kind, Parameter, flag
from holdfast.operations.registry import Verb
from holdfast.surfaces.cli.runner import Manner
from holdfast.system import files

Typed = Mapping[str, Any]  # what was typed, by the parameter's target; nothing, None, False or () is not given
MANNERS = (  # the options of every command
    Parameter(names=("--json",), target="as_json", kind=Kind.FLAG, help="Print one JSON object and nothing else."),
    flag("-q", "--quiet", help="Print data only, no talk."),
    flag("-v", "--verbose", help="Say more about what happens."),
    flag("--fence", help="Print the answer as data for an agent, inside a fence."),
)
ALL = (Kind.WORDS, Kind.COMMAND, Kind.LINE)  # kinds that take every word that is left


def is_given(value: Any) -> bool:
    """Zero is a value, too."""
    return value is not None and value is not False and value != ()


def take_manner(typed: dict[str, Any]) -> Manner:
    """Take the options of every command out of what was typed."""
    return Manner(**{each.target: bool(typed.pop(each.target, False)) for each in MANNERS})


class CommandLine(Struct, frozen=True):
    path: str  # as one types it: `task add`
    verbs: list[Verb]  # the one that the path names, then its variants
    parameters: list[Parameter]

    @property
    def verb(self) -> Verb:
        return self.verbs[0]

    def choose(self, typed: Typed) -> tuple[Verb, dict[str, Any]]:
        """The variant that was asked for, and the arguments for it."""
        verb = self._chosen(typed)
        own = self._own(verb)
        for parameter in self.parameters:
            target = parameter.target
            if is_given(typed.get(target)) and target not in own and target != _chooser(verb):
                raise _mismatch(verb, parameter)
        pairs = [(parameter, typed.get(target)) for target, parameter in own.items()]
        return verb, values(pairs)

    def values(self, typed: Typed) -> dict[str, Any]:
        """The arguments, whichever variant takes them."""
        return values([(parameter, typed.get(parameter.target)) for parameter in self.parameters])

    def _chosen(self, typed: Typed) -> Verb:
        chosen = [verb for verb in self.verbs[1:] if is_given(typed.get(_chooser(verb)))]
        if len(chosen) > 1:
            options = " and ".join(f"`{verb.chosen_by}`" for verb in chosen)
            raise WrongUsage(f"Options {options} do not go together", [], ["give one of them"])
        return chosen[0] if chosen else self.verb

    def _own(self, verb: Verb) -> dict[str, Parameter]:
        """The parameters of a variant by their targets on the command line, where arguments have the first verb's."""
        places = [parameter.target for parameter in self.parameters if parameter.is_argument]
        own = {}
        for parameter in verb.parameters:
            own[places.pop(0) if parameter.is_argument and places else parameter.target] = parameter
        if verb is self.verb:  # its first argument may name another verb of the command, which takes these
            for act in (each for each in self.verbs[1:] if each.chosen_by is None):
                for parameter in act.parameters:
                    if not parameter.is_argument:
                        own.setdefault(parameter.target, parameter)
        return own


def command_line(path: str, *, alone: bool = False) -> CommandLine:
    """`alone`: without the variants, whose parameters then are not read."""
    verbs = load_verbs(path)[:1] if alone else load_verbs(path)
    return CommandLine(path, verbs, _merged(verbs))


def _merged(verbs: list[Verb]) -> list[Parameter]:
    first, *variants = verbs
    arguments = [parameter for parameter in first.parameters if parameter.is_argument]
    options = {parameter.target: parameter for parameter in first.parameters if not parameter.is_argument}
    for verb in variants:
        own = [parameter for parameter in verb.parameters if parameter.is_argument]
        pairs = zip_longest(arguments, own[: len(arguments)])
        arguments = [_either(argument, other) for argument, other in pairs if argument]
        for parameter in verb.parameters:
            if not parameter.is_argument:
                options.setdefault(parameter.target, parameter)
        if verb.chosen_by:
            options.setdefault(_chooser(verb), flag(verb.chosen_by, help=verb.help.partition("\n")[0]))
    return [*arguments, *options.values()]


def _either(argument: Parameter, other: Parameter | None) -> Parameter:
    """An argument as a command takes it whose variant takes another one in its place, or none."""
    if other is None:
        return structs.replace(argument, required=False)
    if other.many and not argument.many:
        return structs.replace(argument, required=False, many=True, metavar=other.metavar)
    return structs.replace(argument, required=argument.required and other.required)


def _chooser(verb: Verb) -> str:
    """The target of the option that chooses a variant."""
    name = verb.chosen_by or ""
    found = (parameter.target for parameter in verb.parameters if name in parameter.names)
    return next(found, name.lstrip("-").replace("-", "_"))


def _mismatch(verb: Verb, parameter: Parameter) -> WrongUsage:
    name = parameter.names[-1] if parameter.names else parameter.target.upper()
    if verb.chosen_by:
        return WrongUsage(f"`{name}` does not go with `{verb.chosen_by}`", [], [f"`holdfast {verb.command}`"])
    return WrongUsage(f"`{name}` needs another option", [], [f"`holdfast {verb.command} --help`"])


def values(pairs: list[tuple[Parameter, Any]]) -> dict[str, Any]:
    """What was typed, as a verb takes it."""
    given: dict[str, Any] = {}
    for parameter, raw in pairs:
        if not is_given(raw):
            continue
        if parameter.is_flag:
            given.setdefault(parameter.target, True)
            given |= parameter.means or {}
        elif parameter.means:
            given[parameter.target] = parameter.means[raw]
        elif parameter.many:
            given[parameter.target] = tuple(_value(parameter.kind, each) for each in raw)
        else:
            given[parameter.target] = _value(parameter.kind, _only(raw) if parameter.kind not in ALL else raw)
    return given


def _only(raw: Any) -> Any:
    """The one word of an argument that another variant takes several of."""
    if isinstance(raw, tuple):
        if len(raw) > 1:
            raise WrongUsage(f"Got unexpected extra argument ({one_line(raw[1], 80)})")
        return raw[0]
    return raw


def _value(kind: Kind, raw: Any) -> Any:
    match kind:
        case Kind.MOMENT:
            return moment(raw)
        case Kind.PATH:
            return os.path.abspath(raw)
        case Kind.CONTENT:
            return _content(raw)
        case Kind.LIST:
            return tuple(filter(None, (word.strip() for word in raw.split(","))))
        case Kind.OUTPUT:
            return None if raw == "-" else raw
        case Kind.WORDS:
            return " ".join(raw)
    return raw


def _content(source: str) -> str:
    if source == "-":
        return sys.stdin.buffer.read(8 * TEXT).decode("utf-8", "replace")
    data = files.read(Path(source), 8 * TEXT)
    if data is None:
        raise NotFound("There is no such file", [("file", source)], ["`-` reads from standard input"])
    return data.decode("utf-8", "replace")


def moment(text: str) -> datetime:
    """A point in time: a date, a date with time, or how long ago."""
    unit = {"d": "days", "h": "hours", "m": "minutes"}.get(text[-1:])
    if unit and text[:-1].isdecimal() and len(text) < 8:
        return _long_ago(unit, int(text[:-1]))
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise WrongUsage(f'"{one_line(text, 40)}" is not a time; 2026-11-01, 3d, 12h or 30m are') from None


def _long_ago(unit: str, number: int) -> datetime:
    try:
        return datetime.now(UTC) - timedelta(**{unit: number})
    except OverflowError:
        return datetime(1970, 1, 1, tzinfo=UTC)
