"""What every command has: --json, -q, -v, --fence, an example, a workspace, and one way to say its result."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from holdfast.core.errors import Ambiguous, Interrupted, NotAProject, NotFound, Refused
from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.ingest.open import open_workspace
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import picker, terminal
from holdfast.surfaces.cli.runner import Manner, Said, answer, is_terminal
from holdfast.system import process

FEW, MANY = 10, 500  # choices that are listed, and from which somebody can pick
NOUNS = ("session", "checkpoint")  # what a fact is called whose value is the choice, and not about it
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
            click.Option(["--fence"], is_flag=True, help="Print the answer as data for an agent, inside a fence."),
        ]

    def invoke(self, ctx: click.Context) -> int:
        manner = Manner(*(ctx.params.pop(name) for name in ("as_json", "quiet", "verbose", "fence")))
        return answer(functools.partial(self._call, ctx), manner)

    def _call(self, ctx: click.Context, workspace: Workspace) -> Said:
        try:
            return self._carry_out(ctx, workspace)
        except NotAProject as error:
            if not is_terminal():
                raise
            confirm(f"{error.message}. Make a store here?", yes=False, hint="holdfast init")
            workspace.allows_broad = True
        return self._carry_out(ctx, workspace)

    def _carry_out(self, ctx: click.Context, workspace: Workspace) -> Said:
        callback = functools.partial(self.callback or _nothing, workspace)
        try:
            return callback(**ctx.params)
        except Ambiguous as error:
            name = next((name for name in ("run", "name", "checkpoint") if name in ctx.params), None)
            if name is None or not is_terminal() or not error.facts or os.environ.get("HOLDFAST_RUN"):
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
    """Let somebody choose: from a list that is drawn, or by number where the terminal cannot draw."""
    choices = [(about, "") if name in NOUNS else (name, about) for name, about in error.facts]
    if picker.can_pick():
        return picker.pick(f"{error.message}:", [picker.Choice(*choice) for choice in choices])
    terminal.emit([f"{error.message}:"], sys.stderr)
    terminal.emit(
        [f"  {number}  {name}  {about}".rstrip() for number, (name, about) in enumerate(choices, 1)], sys.stderr
    )
    number = click.prompt("Which one", type=click.IntRange(1, len(choices)), err=True)
    return choices[number - 1][0]


def which(runs: list[Run]) -> Ambiguous:
    """The question which of these runs is meant."""
    if not runs:
        hints = ["`holdfast runs` lists all", '`holdfast start "GOAL"` begins one']
        raise NotFound("There is no run to choose", [], hints)
    facts = [(run.id, f"{run.status}, {one_line(run.title, 80)}") for run in runs]
    return Ambiguous("Which run", facts if is_terminal() else facts[:FEW], ["name one of them", "`holdfast runs`"])


def resume_instead(run: str, way: str | None = None) -> NoReturn:
    """Become `holdfast resume RUN`, which asks how to go on unless the way is named."""
    # safeguard: isolated-resume
    command = [sys.executable, "-I", "-m", "holdfast", "resume", run]  # else a `holdfast/` of the project would run
    command += ["--from", way] if way else []
    process.become(sys.executable, command, Path.cwd(), dict(os.environ))


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
        terminal.emit([""], sys.stderr)
        raise Interrupted("Nothing was changed") from None


def moment(text: str | None) -> datetime | None:
    """A point in time: a date, a date with time, or how long ago."""
    if text is None:
        return None
    unit = {"d": "days", "h": "hours", "m": "minutes"}.get(text[-1:])
    if unit and text[:-1].isdecimal() and len(text) < 8:
        return _long_ago(unit, int(text[:-1]))
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        sentence = f'"{one_line(text, 40)}" is not a time; 2026-11-01, 3d, 12h or 30m are'
        raise click.UsageError(sentence, click.get_current_context(silent=True)) from None


def _long_ago(unit: str, number: int) -> datetime:
    try:
        return datetime.now(UTC) - timedelta(**{unit: number})
    except OverflowError:
        return datetime(1970, 1, 1, tzinfo=UTC)


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Ids of runs for a shell's completion. It may find nothing, and never fails."""
    from click.shell_completion import CompletionItem

    from holdfast.operations.runs import runs

    try:
        with open_workspace() as workspace:
            found = runs(workspace, limit=100).runs
    except Exception:  # a completion that fails would spoil the line somebody is typing
        return []
    return [CompletionItem(run.id, help=one_line(run.title, 60)) for run in found if incomplete in run.id]


def run_filter(about: str) -> Callable[[F], F]:
    """The option `--run` of a verb that takes all runs without it."""
    return click.option("--run", metavar="RUN", shell_complete=complete_run, help=about)


def run_option(function: F) -> F:
    return run_filter("The run; else the current one.")(function)


def pick_option(function: F) -> F:
    return click.option("--pick", is_flag=True, help="Choose the run from a list, also where one is the current one.")(
        function
    )


def yes_option(function: F) -> F:
    return click.option("--yes", is_flag=True, help="Do not ask.")(function)
