"""Answers of observer commands."""

from __future__ import annotations

from holdfast.core import chat_commands
from holdfast.core.errors import WrongUsage
from holdfast.core.text import one_line
from holdfast.operations.chat_command import Commanded
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(Commanded)
def said_answer(found: Commanded, view: View) -> Said:
    if not found.known:
        known = [("known", line) for line in chat_commands.instructions()]
        text = one_line(view.given["text"], 40)
        raise WrongUsage(f'"{text}" is no observer command', known, ["`holdfast command '*help'`"])
    return Said(found, [found.text])
