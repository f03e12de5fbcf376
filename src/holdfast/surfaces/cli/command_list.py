"""The list of commands, by their groups."""

from __future__ import annotations

import click

from holdfast.operations.commands import COMMANDS, Command
from holdfast.operations.registry import Group

OWN = {  # commands of the command line itself
    "completion": Command("completion", Group.SETUP, "print the completion script of a shell", False, {}),
    "help": Command("help", Group.SETUP, "how a command is used; --all lists all of them", False, {}),
}


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
