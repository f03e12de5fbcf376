"""Commands of the click library, made from the registry: parsing, help, errors and completion."""

from __future__ import annotations

from typing import Any

import click

from holdfast.core.errors import WrongUsage
from holdfast.core.text import one_line
from holdfast.ingest.open import open_workspace
from holdfast.operations.commands import ALIASES, COMMANDS, find_module
from holdfast.operations.parameters import Kind, Parameter
from holdfast.surfaces.cli.call import carry_out
from holdfast.surfaces.cli.command_line import CommandLine, command_line
from holdfast.surfaces.cli.runner import Manner, answer

ALSO = "also_"  # before the target of an argument that an option gives
MANNERS = ("as_json", "quiet", "verbose", "fence")


class WithExample(click.Command):
    """A command whose help ends with an example."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The same whichever caller asks first: click caches the first answer."""
        return ["-h", "--help"]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write_text(self.example)


def manner_options() -> list[click.Parameter]:
    """The options of every command."""
    return [
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object and nothing else."),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print data only, no talk."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Say more about what happens."),
        click.Option(["--fence"], is_flag=True, help="Print the answer as data for an agent, inside a fence."),
    ]


def take_manner(ctx: click.Context) -> Manner:
    return Manner(*(ctx.params.pop(name) for name in MANNERS))


class VerbCommand(WithExample):
    """The command of a verb and its variants."""

    def __init__(self, line: CommandLine, typed: str) -> None:
        params = [made for parameter in line.parameters for made in _click_parameters(parameter)]
        kinds = {parameter.kind for parameter in line.parameters}
        settings: dict[str, Any] = {}
        if kinds & {Kind.COMMAND, Kind.LINE}:
            settings = {"ignore_unknown_options": True, "allow_interspersed_args": Kind.LINE not in kinds}
        super().__init__(
            typed.rpartition(" ")[2],
            params=[*params, *manner_options()],
            help=line.verb.help,
            example=line.verb.example.replace(f"holdfast {line.path}", f"holdfast {typed}", 1),
            context_settings=settings,
        )
        self.line = line
        self.after = next((each.target for each in line.parameters if each.kind is Kind.PATHS), None)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What comes after `--` are paths, for a command that has them."""
        if self.after is None:
            return super().parse_args(ctx, args)
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params[self.after] = tuple(args[at + 1 :])
        return rest

    def invoke(self, ctx: click.Context) -> int:
        manner = take_manner(ctx)
        typed = _one_way(ctx.params)
        return answer(lambda workspace: carry_out(workspace, self.line, typed, manner), manner)


def _one_way(params: dict[str, Any]) -> dict[str, Any]:
    """Arguments that an option can give too, given in one of both ways."""
    typed = {name: value for name, value in params.items() if not name.startswith(ALSO)}
    for name, other in params.items():
        target = name.removeprefix(ALSO)
        if target != name and other is not None:
            if typed[target] is not None:
                facts = [("one", typed[target]), ("other", other)]
                raise WrongUsage(f"The {target} is named twice", facts, ["leave one out"])
            typed[target] = other
    return typed


def _click_parameters(parameter: Parameter) -> list[click.Parameter]:
    complete = complete_run if parameter.kind is Kind.RUN else None
    if parameter.kind in (Kind.AS_JSON, Kind.PATHS):
        return []
    if not parameter.is_argument:
        return [_click_option(parameter, complete)]
    takes_all = parameter.many or parameter.kind in (Kind.WORDS, Kind.COMMAND, Kind.LINE)
    found: list[click.Parameter] = [
        click.Argument(
            [parameter.target],
            type=_click_type(parameter),
            required=parameter.required and parameter.kind not in (Kind.COMMAND, Kind.LINE),
            nargs=-1 if takes_all else 1,
            metavar=parameter.metavar,
            envvar=parameter.variable,
            shell_complete=complete,
        )
    ]
    if parameter.also:
        found.append(
            click.Option(
                [parameter.also, ALSO + parameter.target],
                metavar=parameter.target.upper(),
                help=f"The {parameter.target}; else the current one.",
                shell_complete=complete,
            )
        )
    return found


def _click_option(parameter: Parameter, complete: Any) -> click.Option:
    names = [*parameter.names, parameter.target]
    if parameter.is_flag:
        return click.Option(names, is_flag=True, help=parameter.help)
    return click.Option(
        names,
        type=_click_type(parameter),
        multiple=parameter.many,
        required=parameter.required,
        metavar=parameter.metavar,
        help=parameter.help,
        shell_complete=complete,
    )


def _click_type(parameter: Parameter) -> click.ParamType[Any] | None:
    if parameter.choices:
        return click.Choice(parameter.choices)
    match parameter.kind:
        case Kind.NUMBER:
            return click.IntRange(parameter.least, parameter.most)
        case Kind.FILE | Kind.OUTPUT:
            return click.Path()
        case Kind.COMMAND | Kind.LINE:
            return click.UNPROCESSED
    return None


class FamilyCommand(WithExample, click.Group):
    """The word that several commands begin with."""

    def __init__(self, word: str) -> None:
        from holdfast.operations.registry import FAMILIES

        rests = COMMANDS[word].modules
        lines = {rest: command_line(f"{word} {rest}") for rest in rests}
        family = FAMILIES[word]
        commands: dict[str, click.Command] = {rest: VerbCommand(line, line.path) for rest, line in lines.items()}
        super().__init__(word, commands, help=family.help, example=family.example, no_args_is_help=True)


def find_click_command(word: str) -> click.Command | None:
    path = ALIASES.get(word, word)
    if find_module(path):
        return VerbCommand(command_line(path), word)
    return FamilyCommand(word) if word in COMMANDS else None


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Ids of runs for a shell's completion. It may find nothing, and never fails."""
    from click.shell_completion import CompletionItem

    from holdfast.operations.runs import runs

    try:
        with open_workspace() as workspace:
            found = runs(workspace, limit=100).runs
    except Exception:  # a completion that fails would spoil the line that is being typed
        return []
    return [CompletionItem(run.id, help=one_line(run.title, 60)) for run in found if incomplete in run.id]
