"""The whole command line, by the click library: every form of every command, help, completion, what is mistyped.

The commands are made from the registry; only `help` and `completion` are declared here.
"""

from __future__ import annotations

import os
from typing import Any

import click

from holdfast import __version__
from holdfast.core.errors import DONE, WrongUsage
from holdfast.core.text import nearest, one_line
from holdfast.ingest.open import open_workspace
from holdfast.operations.commands import ALIASES, COMMANDS, Command, is_command
from holdfast.operations.parameters import Kind, Parameter
from holdfast.operations.registry import FAMILIES, Group
from holdfast.surfaces.cli.call import carry_out
from holdfast.surfaces.cli.command_line import MANNERS, CommandLine, command_line, take_manner
from holdfast.surfaces.cli.runner import WORDS, Said, answer

ALSO = "also_"  # before the target of an argument that an option gives
SYNONYMS = {  # verbs of other programs
    "list": ("runs", "checkpoints", "sessions"),
    "ls": ("runs", "checkpoints", "sessions"),
    "cp": ("checkpoint", "checkpoints"),
    "new": ("start",),
    "finish": ("complete",),
    "revert": ("undo", "restore"),
    "rm": ("delete",),
    "remove": ("delete",),
}
OWN = {  # commands of the command line itself
    "completion": Command("completion", Group.SETUP, "print the completion script of a shell", False, "", ()),
    "help": Command("help", Group.SETUP, "how a command is used; --all lists all of them", False, "", ()),
}


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


class VerbCommand(WithExample):
    """The command of a verb and its variants."""

    def __init__(self, line: CommandLine, typed: str) -> None:
        params = [made for parameter in (*line.parameters, *MANNERS) for made in _click_parameters(parameter)]
        kinds = {parameter.kind for parameter in line.parameters}
        settings: dict[str, Any] = {}
        if kinds & {Kind.COMMAND, Kind.LINE}:
            settings = {"ignore_unknown_options": True, "allow_interspersed_args": Kind.LINE not in kinds}
        super().__init__(
            typed.rpartition(" ")[2],
            params=params,
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
        manner = take_manner(ctx.params)
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
        rests = COMMANDS[word].rests
        lines = {rest: command_line(f"{word} {rest}") for rest in rests}
        family = FAMILIES[word]
        commands: dict[str, click.Command] = {rest: VerbCommand(line, line.path) for rest, line in lines.items()}
        super().__init__(word, commands, help=family.help, example=family.example, no_args_is_help=True)


def find_click_command(word: str) -> click.Command | None:
    path = ALIASES.get(word, word)
    if is_command(path):
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


def write_commands(formatter: click.HelpFormatter, *, every: bool) -> None:
    """The commands by their groups; without `every`, those that are in daily use."""
    listed = sorted([*COMMANDS.values(), *OWN.values()])
    for group in Group:
        rows = [(each.word, each.about) for each in listed if each.group is group and (every or each.common)]
        if rows:
            with formatter.section(group.value):
                formatter.write_dl(rows)
    if not every:
        formatter.write_paragraph()
        formatter.write_text("All commands: holdfast help --all")


class OwnCommand(WithExample):
    """A command that calls no verb."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [_click_option(each, None) for each in MANNERS]

    def invoke(self, ctx: click.Context) -> int:
        manner = take_manner(ctx.params)
        said: Said = super().invoke(ctx)
        return answer(lambda workspace: said, manner)


@click.command(cls=OwnCommand, example='eval "$(holdfast completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> Said:
    """Print the completion script of a shell."""
    from click.shell_completion import ShellComplete, get_completion_class

    maker = get_completion_class(shell)
    assert maker is not None
    made = maker(click.get_current_context().find_root().command, {}, "holdfast", "_HOLDFAST_COMPLETE")
    script = ShellComplete.source(made)  # the class's own `source` would run whatever is called bash
    return Said({"shell": shell, "script": script}, [script])


@click.command(cls=OwnCommand, example="holdfast help checkpoint")
@click.argument("words", nargs=-1, metavar="[VERB]")
@click.option("--all", "every", is_flag=True, help="List all commands, also those of other systems.")
def help(words: tuple[str, ...], every: bool) -> Said:
    """Show how a command is used; without one, the commands in daily use."""
    root = click.get_current_context().find_root()
    text = _all_commands(root) if every else _help_of(root, list(words))
    return Said({"help": text}, text.split("\n"))


def _help_of(context: click.Context, words: list[str]) -> str:
    command = context.command
    while words and isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
        context = click.Context(found, info_name=name, parent=context)
    return command.get_help(context)


def _all_commands(root: click.Context) -> str:
    formatter = root.make_formatter()
    write_commands(formatter, every=True)
    return formatter.getvalue().strip("\n")


class LazyGroup(click.Group):
    """All commands, each made when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return WORDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OWN:
            return help if cmd_name == "help" else completion
        return find_click_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in WORDS and not args[0].startswith("-"):
            word = args[0].casefold()
            common = [command.word for command in COMMANDS.values() if command.common]
            near = SYNONYMS.get(word) or nearest(word, [*common, *(name for name in COMMANDS if name not in common)])
            hints = [f"did you mean `holdfast {name}`?" for name in near]
            raise WrongUsage(
                f'There is no verb "{one_line(args[0], 40)}"', [], [*hints, "`holdfast help --all` lists them"]
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(formatter, every=False)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False,
               invoke_without_command=True)  # fmt: skip
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
@click.pass_context
def holdfast(ctx: click.Context) -> int:
    """Durable sessions for AI coding agents.

    Holdfast keeps what an agent's work knows - its goal, decisions, tasks, what was done - and gives it back.
    `holdfast help VERB` shows one with an example.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    return DONE


def invoke(arguments: list[str]) -> int:
    try:
        if "_HOLDFAST_COMPLETE" in os.environ:
            holdfast._main_shell_completion({}, "holdfast")
        with holdfast.make_context("holdfast", list(arguments)) as context:
            result = holdfast.invoke(context)
        return result if isinstance(result, int) else DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return DONE
    except click.UsageError as error:
        raise _usage(error) from error
    except click.Abort:
        raise KeyboardInterrupt from None


def _usage(error: click.UsageError) -> WrongUsage:
    path = error.ctx.command_path if error.ctx else "holdfast"
    said = _message(error).rstrip(".").replace("is not a valid integer range", "is not a whole number")
    takes_run = error.ctx is not None and any("--run" in option.opts for option in error.ctx.command.params)
    is_extra = said.startswith("Got unexpected extra argument")
    hints = [f"did you mean `{name}`?" for name in _near(error, path)]
    if is_extra and path.removeprefix("holdfast ") + "s" in COMMANDS:
        hints.append(f"did you mean `{path}s`?")
    if takes_run and is_extra:
        hints.append(f"`{path} --run RUN` names a run")
    return WrongUsage(said, [], [*hints, f"`{path} --help`"])


def _message(error: click.UsageError) -> str:
    """The error without click's own suggestions, which are not near."""
    return error.message if getattr(error, "possibilities", None) else error.format_message()


def _typed(param: click.Parameter, name: str) -> str:
    """A parameter as it is typed: an argument has no name there, so a word that stands for its value."""
    return name.upper() if isinstance(param, click.Argument) else name


def _near(error: click.UsageError, path: str) -> list[str]:
    """Options, subcommands or values that a mistyped one may stand for."""
    command = error.ctx.command if error.ctx else None
    if command and isinstance(error, click.NoSuchOption):
        known = {name.lstrip("-"): _typed(param, name) for param in command.params for name in param.opts}
        return [f"{path} {known[name]}" for name in nearest(error.option_name.lstrip("-"), known)]
    if isinstance(command, click.Group) and (word := getattr(error, "command_name", None)):
        return [f"{path} {name}" for name in nearest(word, command.commands)]
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice):
        return nearest(error.message.partition("' is not one of")[0].lstrip("'"), map(str, error.param.type.choices))
    return []
