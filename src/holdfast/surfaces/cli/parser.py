"""The whole command line, by the click library: every form of every command, help, completion, what is mistyped."""

from __future__ import annotations

import os

import click

from holdfast import __version__
from holdfast.core.errors import DONE, WrongUsage
from holdfast.core.text import nearest, one_line
from holdfast.operations.commands import COMMANDS
from holdfast.surfaces.cli.click_commands import find_click_command
from holdfast.surfaces.cli.command_list import OWN, write_commands
from holdfast.surfaces.cli.runner import WORDS

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


class LazyGroup(click.Group):
    """All commands, each made when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return WORDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OWN:
            from holdfast.surfaces.cli import own_commands

            command: click.Command = getattr(own_commands, cmd_name)
            return command
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
