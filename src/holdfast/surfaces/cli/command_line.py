"""The command line of one command: its parameters with those of its variants, and the verb that typed values mean."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from msgspec import Struct, structs

from holdfast.core.errors import WrongUsage
from holdfast.operations.commands import load_verbs
from holdfast.operations.parameters import Kind, Parameter, flag, is_given, values
from holdfast.operations.registry import Verb
from holdfast.surfaces.cli.runner import Manner

Typed = Mapping[str, Any]  # what was typed, by the parameter's target; nothing, None, False or () is not given
MANNERS = (  # the options of every command
    Parameter(names=("--json",), target="as_json", kind=Kind.FLAG, help="Print one JSON object and nothing else."),
    flag("-q", "--quiet", help="Print data only, no talk."),
    flag("-v", "--verbose", help="Say more about what happens."),
    flag("--fence", help="Print the answer as data for an agent, inside a fence."),
)


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
        return verb, values(pairs, _read_input)

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


def _read_input(limit: int) -> bytes:
    return sys.stdin.buffer.read(limit)
