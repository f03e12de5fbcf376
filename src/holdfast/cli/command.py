"""What every command has: --json, -q, -v, an example, a workspace, and one way to say its result."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.cli import words
from holdfast.cli.outcome import Manner, Said, answer, is_terminal
from holdfast.errors import Ambiguous, Interrupted, Refused
from holdfast.workspace import Workspace, open_workspace

F = TypeVar("F", bound=Callable[..., Any])


class WithExample(click.Command):
    """A command whose help ends with an example."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The same whoever asks first: click remembers what it was told then."""
        return ["-h", "--help"]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write_text(self.example)


class VerbGroup(WithExample, click.Group):
    """Several commands of one kind."""


class VerbCommand(WithExample):
    """A command that opens the workspace, calls its verb and says the result."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object and nothing else."),
            click.Option(["-q", "--quiet"], is_flag=True, help="Print data only, no talk."),
            click.Option(["-v", "--verbose"], is_flag=True, help="Say more about what happens."),
        ]

    def invoke(self, ctx: click.Context) -> int:
        manner = Manner(*(ctx.params.pop(name) for name in ("as_json", "quiet", "verbose")))
        return answer(functools.partial(self._call, ctx), manner)

    def _call(self, ctx: click.Context, workspace: Workspace) -> Said:
        callback = functools.partial(self.callback or _nothing, workspace)
        try:
            return callback(**ctx.params)
        except Ambiguous as error:
            name = next((name for name in ("run", "name") if name in ctx.params), None)
            if name is None or not is_terminal() or os.environ.get("HOLDFAST_RUN"):
                raise
            return callback(**(ctx.params | {name: _pick(error)}))


def _nothing(*_: object) -> Said:
    return Said(None)


def verb(
    example: str, name: str | None = None, parent: click.Group | None = None, **settings: Any
) -> Callable[[F], click.Command]:
    """Make a function `(workspace, **arguments) -> Said` a command."""
    maker = parent.command if parent is not None else click.command
    return maker(name, **{"cls": VerbCommand, "example": example, **settings})


def _pick(error: Ambiguous) -> str:
    words.emit([f"{error.message}:"], sys.stderr)
    words.emit([f"  {number}  {name}  {about}" for number, (name, about) in enumerate(error.facts, 1)], sys.stderr)
    number = click.prompt("Which one", type=click.IntRange(1, len(error.facts)), err=True)
    return error.facts[number - 1][0]


def confirm(question: str, yes: bool, hint: str) -> None:
    """Ask before something cannot be taken back. Where nobody can answer, the answer is no."""
    if yes:
        return
    if not is_terminal():
        raise Refused(f"{question} Nobody is here to say yes", [], [f"`{hint} --yes`"])
    if not ask(question):
        raise Refused("Nothing was changed")


def ask(question: str) -> bool:
    """Ask somebody at a terminal. Ctrl-C and Ctrl-D are no answer."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        words.emit([""], sys.stderr)
        raise Interrupted("Nothing was changed") from None


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Ids of runs for a shell's completion. It may find nothing, and never fails."""
    from click.shell_completion import CompletionItem

    from holdfast.operations.look import runs
    from holdfast.text import one_line

    try:
        with open_workspace() as workspace:
            found = runs(workspace, limit=100).runs
    except Exception:  # a completion that fails would spoil the line somebody is typing
        return []
    return [CompletionItem(run.id, help=one_line(run.title, 60)) for run in found if incomplete in run.id]


def run_option(function: F) -> F:
    return click.option("--run", metavar="RUN", shell_complete=complete_run, help="The run; else the current one.")(
        function
    )


def yes_option(function: F) -> F:
    return click.option("--yes", is_flag=True, help="Do not ask.")(function)
