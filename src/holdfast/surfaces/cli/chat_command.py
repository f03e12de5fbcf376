"""Observer commands, from the command line."""

from __future__ import annotations

from functools import partial

import click

from holdfast.core import chat_commands
from holdfast.core.chat_commands import Order
from holdfast.core.errors import WrongUsage
from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.ingest.catch_up import catch_up
from holdfast.layouts.registry import find_chat_run
from holdfast.operations import chat_command as commanding
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import resume_instead, verb
from holdfast.surfaces.cli.runner import Said, is_terminal


def _find_run(workspace: Workspace, order: Order) -> Run | None:
    if workspace.exists and not workspace.is_off:
        catch_up(workspace)
    return find_chat_run(workspace, order)


@verb("holdfast command '*sessions'")
@click.argument("text", metavar="'*…'")
def command(workspace: Workspace, text: str) -> Said:
    """Carry out an observer command, as one types it into a client."""
    order = chat_commands.parse(text)
    if order is not None and order.word == "new" and not order.argument and is_terminal():
        text = f"*new {click.prompt('What is it about', err=True)}"
    is_choice = order is not None and order.word == "resume" and order.way is None
    if order is not None and is_choice and is_terminal() and (run := _find_run(workspace, order)):
        return Said(None, then=partial(resume_instead, run.id))
    found = commanding.command(workspace, text)
    if not found.known:
        known = [("known", line) for line in chat_commands.instructions()]
        raise WrongUsage(f'"{one_line(text, 40)}" is no observer command', known, ["`holdfast command '*help'`"])
    return Said(found, [found.text])
