"""Observer commands, from the command line."""

from __future__ import annotations

import click

from holdfast import observer
from holdfast.cli.command import verb
from holdfast.cli.outcome import Said
from holdfast.errors import WrongUsage
from holdfast.operations import command as commanding
from holdfast.text import one_line
from holdfast.workspace import Workspace


@verb("holdfast command '*sessions'")
@click.argument("text", metavar="'*…'")
def command(workspace: Workspace, text: str) -> Said:
    """Carry out an observer command, as one types it into a client."""
    found = commanding.command(workspace, text)
    if not found.known:
        known = [("known", line) for line in observer.instructions()]
        raise WrongUsage(f'"{one_line(text, 40)}" is no observer command', known, ["`holdfast command '*help'`"])
    return Said(found, [found.text])
