"""Supervise a command in the user's terminal."""

from __future__ import annotations

import click

from holdfast.cli.command import run_option, verb
from holdfast.cli.outcome import Said
from holdfast.cli.words import Line
from holdfast.operations import run as running
from holdfast.workspace import Workspace


@verb(
    "holdfast run -- claude",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@run_option
@click.option("--agent", metavar="NAME", help="The agent that works on it; else the command's name.")
@click.option("--take-over", is_flag=True, help="Fence whoever is on the run: they cannot write any more.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND…")
def run(workspace: Workspace, run: str | None, agent: str | None, take_over: bool, command: tuple[str, ...]) -> Said:
    """Run a command in your terminal, saved from time to time; exits as it does."""
    found = running.run(workspace, command, run=run, agent=agent, take_over=take_over)
    talk: list[Line] = []
    if found.signal:
        talk.append(("warn", f"{found.run} is {found.status}: the command was ended by {found.signal}"))
    return Said(found, talk=talk, code=found.code)
