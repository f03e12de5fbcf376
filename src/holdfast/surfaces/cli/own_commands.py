"""Commands of the command line itself: help and shell completion."""

from __future__ import annotations

from typing import Any

import click

from holdfast.operations.commands import ALIASES
from holdfast.surfaces.cli.click_commands import WithExample, manner_options, take_manner
from holdfast.surfaces.cli.command_list import write_commands
from holdfast.surfaces.cli.runner import Said, answer


class OwnCommand(WithExample):
    """A command that calls no verb."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += manner_options()

    def invoke(self, ctx: click.Context) -> int:
        manner = take_manner(ctx)
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


def _all_commands(root: click.Context) -> str:
    formatter = root.make_formatter()
    write_commands(formatter, every=True)
    formatter.write_paragraph()
    formatter.write_text(f"Other names: {', '.join(f'{alias} ({path})' for alias, path in sorted(ALIASES.items()))}")
    return formatter.getvalue().strip("\n")


def _help_of(context: click.Context, words: list[str]) -> str:
    command = context.command
    while words and isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
        context = click.Context(found, info_name=name, parent=context)
    return command.get_help(context)
