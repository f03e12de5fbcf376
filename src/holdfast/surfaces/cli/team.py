"""What a team tells of its run: hand-offs, breakpoints, outputs, metrics; and its old files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from holdfast.core.errors import NotFound
from holdfast.core.fold.team import TEXT
from holdfast.core.text import count, one_line
from holdfast.operations import cleanup as cleaning, team
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import confirm, run_option, verb, yes_option
from holdfast.surfaces.cli.runner import Said
from holdfast.system import files


@verb("holdfast handoff test-agent")
@click.argument("agent")
@run_option
def handoff(workspace: Workspace, agent: str, run: str | None) -> Said:
    """Hand a run on to another agent."""
    found = team.handoff(workspace, agent, run=run)
    before = f", from {one_line(found.before, 60)}" if found.before else ""
    said = f"{found.run} was handed to {found.agent}{before}" if found.changed else f"{found.agent} had it already"
    return Said(found, [found.agent], [said])


@verb("holdfast breakpoint on")
@click.argument("state", type=click.Choice(["on", "off"]), metavar="on|off")
@run_option
def breakpoint(workspace: Workspace, state: str, run: str | None) -> Said:
    """Say that a run waits for somebody to answer, or that it goes on."""
    found = team.breakpoint(workspace, state == "on", run=run)
    word = "waits at a breakpoint" if found.on else "goes on"
    return Said(found, [state], [f"{found.run} {word}" if found.changed else "It was so already"])


@verb("holdfast output spec docs/spec.md")
@click.argument("key")
@click.argument("source", metavar="FILE|-")
@run_option
def output(workspace: Workspace, key: str, source: str, run: str | None) -> Said:
    """Keep what a step has given, from a file or from standard input. Keys that list things take one a line."""
    found = team.output(workspace, key, _text(source), run=run)
    size = (
        count(len(found.value), "item") if isinstance(found.value, list) else count(len(str(found.value)), "character")
    )
    return Said(found, [found.key], [f"Kept {size} on {found.run}" if found.changed else "It was so already"])


@verb("holdfast metric test_coverage 85")
@click.argument("key")
@click.argument("value")
@run_option
def metric(workspace: Workspace, key: str, value: str, run: str | None) -> Said:
    """Keep a measure of a run: a number, yes or no, or a short text."""
    found = team.metric(workspace, key, value, run=run)
    said = f"{found.key} of {found.run} is {found.value}" if found.changed else "It was so already"
    return Said(found, [str(found.value)], [said])


@verb("holdfast cleanup --older-than 30 --keep 5")
@click.option("--older-than", "days", type=click.IntRange(0, 36_500), default=30, metavar="DAYS", help="Days; else 30.")
@click.option("--keep", type=click.IntRange(0, 100_000), default=5, metavar="N", help="How many stay; else 5.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@yes_option
def cleanup(workspace: Workspace, days: int, keep: int, dry_run: bool, yes: bool) -> Said:
    """Take away the files of completed and abandoned Go Team runs. The journal keeps what they knew."""
    found = cleaning.cleanup(workspace, days=days, keep=keep, dry_run=True)
    rows = [f"{id}  {one_line(topic, 80)}" for id, topic in zip(found.runs, found.topics, strict=True)]
    if dry_run or not found.runs:
        talk = f"{count(len(found.runs), 'run')} would go, {found.kept} stay" if found.runs else "Nothing to clean up"
        return Said(found, rows, [talk])
    terminal.emit(rows, sys.stderr)
    hint = f"holdfast cleanup --older-than {days} --keep {keep}"
    confirm(f"Take away the files of {count(len(found.runs), 'run')}?", yes, hint)
    found = cleaning.cleanup(workspace, days=days, keep=keep)
    return Said(found, found.runs, [f"{count(len(found.runs), 'run')} cleaned up; the journal keeps them"])


def _text(source: str) -> str:
    if source == "-":
        return sys.stdin.buffer.read(8 * TEXT).decode("utf-8", "replace")
    data = files.read(Path(source), 8 * TEXT)
    if data is None:
        raise NotFound("There is no such file", [("file", source)], ["`-` reads from standard input"])
    return data.decode("utf-8", "replace")
