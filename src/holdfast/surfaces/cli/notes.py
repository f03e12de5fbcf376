"""Tell it something: notes, decisions, tasks, names, tags; and make it forget."""

from __future__ import annotations

from typing import Any

import click

from holdfast.core.text import count, one_line
from holdfast.operations import (
    decide as deciding,
    forget as forgetting,
    note as noting,
    pin as pinning,
    record,
    rename as naming,
    task as tasks,
)
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import VerbGroup, confirm, run_option, verb, yes_option
from holdfast.surfaces.cli.runner import Said

OUTCOME = click.option("--outcome", metavar="TEXT", help="What came of it.")
FILES = click.option("--files", metavar="A,B", help="The files it changed, with commas between.")


@verb('holdfast note "The staging server needs a VPN"')
@click.argument("text")
@run_option
def note(workspace: Workspace, text: str, run: str | None) -> Said:
    """Write something down. Prints the entry's id."""
    found = noting.note(workspace, text, run=run)
    return Said(found, [found.entry], [f"Noted on {found.run}"])


@verb('holdfast decide "Use exponential backoff" --because "the server sheds load"')
@click.argument("text")
@click.option("--because", metavar="WHY", help="The reason; the next session will want it.")
@run_option
def decide(workspace: Workspace, text: str, because: str | None, run: str | None) -> Said:
    """Record a decision and its reason. Prints the entry's id."""
    found = deciding.decide(workspace, text, because=because, run=run)
    return Said(found, [found.entry], [f"Decided on {found.run}"])


@verb('holdfast revoke 2 --because "the library was dropped"')
@click.argument("decision", metavar="N")
@click.option("--because", metavar="WHY", help="The reason.")
@run_option
def revoke(workspace: Workspace, decision: str, because: str | None, run: str | None) -> Said:
    """Take a decision back. It stays in the history; no brief names it any more."""
    found = deciding.revoke(workspace, decision, because=because, run=run)
    return Said(
        found, [found.entry], [f"{found.entry} is revoked" if found.changed else f"{found.entry} was revoked already"]
    )


@click.group(cls=VerbGroup, example='holdfast task add "Write the tests"', no_args_is_help=True)
def task() -> None:
    """Tasks of a run: add one, finish one, list them."""


@verb('holdfast task add "Write the tests"', "add", task)
@click.argument("text")
@run_option
def add(workspace: Workspace, text: str, run: str | None) -> Said:
    """Add a task. Prints the entry's id."""
    found = tasks.add_task(workspace, text, run=run)
    return Said(found, [found.entry], [f"Added to {found.run}"])


def _done(workspace: Workspace, name: str, outcome: str | None, files: str | None, run: str | None) -> Said:
    """Finish a task, with what came of it."""
    listed = tuple(filter(None, (file.strip() for file in (files or "").split(","))))
    found = tasks.finish_task(workspace, name, outcome=outcome, files=listed, run=run)
    return Said(
        found, [found.entry], [f"{found.entry} is done" if found.changed else f"{found.entry} was done already"]
    )


def _done_command(example: str, parent: click.Group | None = None) -> click.Command:
    command: Any = run_option(FILES(OUTCOME(click.argument("name", metavar="TASK")(_done))))
    return verb(example, "done", parent)(command)


_done_command('holdfast task done t1 --outcome "12 tests, green" --files tests/test_client.py', task)
done = _done_command('holdfast done t1 --outcome "12 tests, green"')


@verb("holdfast task list", "list", task)
@run_option
def list_(workspace: Workspace, run: str | None) -> Said:
    """The tasks of a run, open and done."""
    found = tasks.list_tasks(workspace, run=run)
    rows = [[task.id, "done" if task.done else "open", task.text, task.outcome or ""] for task in found.tasks]
    if not rows:
        return Said(found, talk=["No task yet."])
    return Said(found, lambda: terminal.table(["task", "state", "what", "outcome"], rows))


@verb('holdfast action "Ran the migration" --file db/schema.sql')
@click.argument("text")
@click.option("--file", "files", multiple=True, metavar="F", help="A file that it touched. Can be repeated.")
@click.option("--line", type=click.IntRange(1), metavar="N", help="The line of the last file that is worked on.")
@run_option
def action(workspace: Workspace, text: str, files: tuple[str, ...], line: int | None, run: str | None) -> Said:
    """Record something that was done. Prints the event's number."""
    found = record.action(workspace, text, files=files, line=line, run=run)
    return Said(found, [str(found.seq)], [f"Recorded on {found.run}"])


@verb("holdfast pin d2")
@click.argument("entry", metavar="N|CHECKPOINT")
@click.option("--off", is_flag=True, help="Let go of it again.")
@run_option
def pin(workspace: Workspace, entry: str, off: bool, run: str | None) -> Said:
    """Let every brief carry a decision, note or task; or keep a checkpoint. A bare number means a decision."""
    found = pinning.pin(workspace, entry, off=off, run=run)
    return Said(found, [found.entry], [f"{found.entry} is {'pinned' if found.pinned else 'not pinned'}"])


@verb("holdfast forget 17 --yes")
@click.argument("event", metavar="EVENT")
@run_option
@yes_option
def forget(workspace: Workspace, event: str, run: str | None, yes: bool) -> Said:
    """Make a run forget one event: nothing that is shown, told or searched knows it any more. Its place stays."""
    meant = forgetting.forget(workspace, event, run=run, dry_run=True)
    confirm(f"Forget event {meant.seq} of {meant.run}?", yes, f"holdfast forget {meant.seq} --run {meant.run}")
    found = forgetting.forget(workspace, event, run=run)
    return Said(found, [str(found.seq)], [f"{found.run} has forgotten event {found.seq}"])


@verb('holdfast rename "Retries"')
@click.argument("name")
@run_option
def rename(workspace: Workspace, name: str, run: str | None) -> Said:
    """Give a run a name, which is shown instead of its goal."""
    found = naming.rename(workspace, name, run=run)
    return Said(found, [found.run.id], [f"{found.run.id} is called {one_line(found.run.title, 80)}"])


@verb("holdfast tag urgent --remove waiting")
@click.argument("tags", nargs=-1, metavar="TAG…")
@click.option("--remove", multiple=True, metavar="TAG", help="Take this tag off. Can be repeated.")
@run_option
def tag(workspace: Workspace, tags: tuple[str, ...], remove: tuple[str, ...], run: str | None) -> Said:
    """Add tags to a run, or take them off. Prints all its tags."""
    found = naming.tag(workspace, tags, remove=remove, run=run)
    return Said(found, found.run.tags, [f"{found.run.id} has {count(len(found.run.tags), 'tag')}"])
