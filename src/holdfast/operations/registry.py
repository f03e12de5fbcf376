"""Registry of the verbs: what each is called, takes and asks; the decorator fills it as modules are loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.question import Choose, Instead, Tell
from holdfast.operations.parameters import Parameter, names_of, parameters_of
from holdfast.project.workspace import Workspace

Arguments = Mapping[str, Any]
Asks = Callable[[Workspace, Arguments, bool], Choose | Instead | Tell | None]
Follows = Callable[[Workspace, Arguments, Any], Choose | Instead | None]


class Group(StrEnum):
    """A heading of the list of commands; the last ones are commands of one system."""

    SEE = "See where I am"
    GO = "Go on"
    BACK = "Go back"
    TELL = "Tell it something"
    SETUP = "Set up"
    CARE = "Look after it"
    FABER = "FABER"
    ORCHESTRATOR = "Orchestrator"
    GO_TEAM = "Go Team"


class Verb(Struct, frozen=True, dict=True):
    name: str  # in Python
    module: str  # below `operations`
    function: Callable[..., Any]
    command: str | None  # as one types it: `task add`; an option in it makes it a variant: `runs --size`
    group: Group | None  # None for a variant, which stands with its command
    example: str
    summary: str | None
    prints: str | None
    aliases: tuple[str, ...]
    common: bool  # listed by the short help
    changes: bool
    asks: Asks | None  # the next question before the call; None: all is known. True: somebody can be asked
    follows: Follows | None  # the question that a result raises, or another call
    options: tuple[Parameter, ...]  # of surfaces: they change how a result is shown, or stand for several arguments

    @functools.cached_property
    def parameters(self) -> list[Parameter]:
        return [*parameters_of(self.function), *self.options]

    @property
    def results(self) -> tuple[type, ...]:
        """The types of its result: several where it depends on the arguments."""
        hint = get_type_hints(self.function)["return"]
        return get_args(hint) or (hint,)

    def call(self, workspace: Workspace, given: Arguments) -> Any:
        """Call the function without the arguments that only a surface has, like `yes`."""
        for parameter in self.parameters:
            if parameter.required and parameter.target not in given:
                name = parameter.metavar or parameter.target.upper()
                raise WrongUsage(f"Missing argument '{name}'", [], [f"`holdfast {' '.join(self.words)} --help`"])
        names = names_of(self.function)
        return self.function(workspace, **{name: value for name, value in given.items() if name in names})

    @property
    def help(self) -> str:
        text = self.function.__doc__ or ""
        first, gap, rest = text.partition("\n\n")
        return f"{first}{f' Prints {self.prints}.' if self.prints else ''}{gap}{rest}"

    @property
    def about(self) -> str:
        """One line for a list of commands."""
        text = self.summary or (self.function.__doc__ or "").partition(". ")[0].partition("\n")[0].rstrip(".")
        return text[:1].lower() + text[1:]

    @property
    def words(self) -> tuple[str, ...]:
        """The command without the option that makes it a variant."""
        return tuple(word for word in (self.command or "").split() if not word.startswith("-"))

    @property
    def chosen_by(self) -> str | None:
        """The option that makes it this variant of its command."""
        return next((word for word in (self.command or "").split() if word.startswith("-")), None)


class Family(Struct, frozen=True):
    """A word that several commands begin with: `task` of `task add`."""

    word: str
    group: Group
    about: str
    help: str
    example: str
    common: bool = False


VERBS: dict[str, Verb] = {}
FAMILIES: dict[str, Family] = {}
