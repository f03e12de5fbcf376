"""Bring in what was there before: `import`."""

from __future__ import annotations

import click

from holdfast.cli.command import verb
from holdfast.cli.outcome import Said
from holdfast.cli.words import Line
from holdfast.errors import WrongUsage
from holdfast.operations import import_claude as importing
from holdfast.text import count, one_line
from holdfast.workspace import Workspace

NAMED = 10


@verb("holdfast import --claude", "import")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--claude", is_flag=True, help="Conversations of Claude Code, from its transcripts.")
@click.option("--all", "every", is_flag=True, help="Every conversation, not only the newest hundred.")
def import_(workspace: Workspace, paths: tuple[str, ...], claude: bool, every: bool) -> Said:
    """Make runs of the conversations that were there before. Prints the ids of those that are new."""
    if not claude:
        raise WrongUsage("What shall be imported?", [], ["`holdfast import --claude`"])
    found = importing.import_claude(workspace, paths, every=every)
    talk: list[Line] = [
        f"Imported {count(len(found.runs), 'run')} of {count(found.conversations, 'conversation')}: "
        f"{count(found.prompts, 'prompt')}, {count(found.actions, 'action')}"
    ]
    if found.joined:
        talk.append(f"{count(len(found.joined), 'run')} that were there already learned something")
    if found.left:
        talk.append(f"{count(found.left, 'older conversation')} left: `holdfast import --claude --all` takes them too")
    talk += [("warn", f"Skipped {one_line(each.file)}: {each.reason}") for each in found.skipped[:NAMED]]
    if len(found.skipped) > NAMED:
        talk.append(("warn", f"and {len(found.skipped) - NAMED:,} more; `--json` names them"))
    return Said(found, found.runs, talk)
