"""Carry a run away, and bring in what was elsewhere or before: `export`, `import`."""

from __future__ import annotations

import click

from holdfast.core.errors import WrongUsage
from holdfast.core.text import count, one_line
from holdfast.operations import export as exporting, import_claude as importing, import_run as receiving
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import complete_run, verb
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

NAMED = 10


@verb("holdfast export run-4x9k2m7pq3 login.holdfast")
@click.argument("run", shell_complete=complete_run)
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--raw", is_flag=True, help="Everything as it is: nothing is redacted.")
@click.option("--without-code", is_flag=True, help="Leave its checkpoints out: code cannot be redacted.")
@click.option("--transcripts", is_flag=True, help="The agent's own records of its conversations too.")
def export(workspace: Workspace, run: str, file: str, raw: bool, without_code: bool, transcripts: bool) -> Said:
    """Put a run into one file that can be carried away, without the secrets that are known to be some.

    The code of its checkpoints is in it as it is, also what was never committed.
    """
    found = exporting.export(workspace, run, file, raw=raw, without_code=without_code, transcripts=transcripts)
    talk: list[Line] = [
        f"Exported {found.run}: {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"
        + (f", {count(found.transcripts, 'transcript')}" if transcripts else "")
    ]
    if found.raw:
        talk.append(("warn", "Nothing was redacted"))
    elif found.redacted:
        kinds = ", ".join(f"{number:,} of kind {kind}" for kind, number in sorted(found.redacted.items()))
        talk.append(f"Redacted: {kinds}")
    if found.left_out:
        talk.append(f"{count(found.left_out, 'checkpoint')} left out, with the code")
    if found.checkpoints and not found.raw:
        talk.append(("warn", "The code in it is as it was: code is never redacted; `--without-code` leaves it out"))
    talk += [("warn", f"Skipped {one_line(path)}: it cannot be read") for path in found.skipped[:NAMED]]
    return Said(found, [found.path], talk)


@verb("holdfast import login.holdfast", "import")
@click.argument("paths", nargs=-1, metavar="[FILE]…", type=click.Path())
@click.option("--claude", is_flag=True, help="Conversations of Claude Code, from its transcripts.")
@click.option("--all", "every", is_flag=True, help="Every conversation, not only the newest hundred.")
def import_(workspace: Workspace, paths: tuple[str, ...], claude: bool, every: bool) -> Said:
    """Take in an exported run; or, with --claude, the conversations that were there before. Prints the runs' ids."""
    if claude:
        return _conversations(workspace, paths, every)
    if len(paths) != 1 or every:
        raise WrongUsage("What shall be imported?", [], ["`holdfast import FILE`", "`holdfast import --claude`"])
    return _run(workspace, paths[0])


def _run(workspace: Workspace, path: str) -> Said:
    found = receiving.import_run(workspace, path)
    goal = one_line(found.goal, 80)
    talk: list[Line] = []
    if found.outcome == "known":
        talk.append(f"{found.run} has all its events already: {goal}")
    elif found.outcome == "extended":
        talk.append(f"Added {count(found.added, 'event')} to {found.run}: {goal}")
    else:
        talk.append(f"Imported {found.run}: {count(found.added, 'event')}: {goal}")
    if found.forked_from:
        parted = f"It was the same as {found.forked_from} up to event {found.forked_at}, and then went another way"
        talk.append(("warn", f"{parted}: {found.run} is a run of its own") if found.outcome == "forked" else parted)
    if found.checkpoints:
        talk.append(f"{count(found.checkpoints, 'checkpoint')} came along; `holdfast checkpoints` lists them")
    if found.left_out:
        talk.append(("warn", f"{count(found.left_out, 'checkpoint')} cannot be kept in this repository"))
    if found.redacted and found.outcome != "known":
        talk.append("Secrets were taken out of it before")
    talk += [f"Transcript: {one_line(file)}" for file in found.transcripts]
    return Said(found, [found.run], talk)


def _conversations(workspace: Workspace, paths: tuple[str, ...], every: bool) -> Said:
    found = importing.import_claude(workspace, paths, every=every)
    numbers = f"{count(found.prompts, 'prompt')}, {count(found.actions, 'action')}"
    imported = f"Imported {count(len(found.runs), 'run')} of {count(found.conversations, 'conversation')}: {numbers}"
    talk: list[Line] = [f"Nothing to import: {found.reason}" if found.reason else imported]
    if found.joined:
        talk.append(f"{count(len(found.joined), 'run')} that were there already learned something")
    if found.left:
        talk.append(f"{count(found.left, 'older conversation')} left: `holdfast import --claude --all` takes them too")
    if found.damaged:
        talk.append(("warn", f"{count(found.damaged, 'line')} could not be read; what stood there is not taken in"))
    talk += [("warn", f"Skipped {one_line(each.file)}: {each.reason}") for each in found.skipped[:NAMED]]
    if len(found.skipped) > NAMED:
        talk.append(("warn", f"and {len(found.skipped) - NAMED:,} more; `--json` names them"))
    return Said(found, found.runs, talk)
