"""Progress: the steps of a run, and errors that were met."""

from __future__ import annotations

import click

from holdfast.core.text import one_line
from holdfast.layouts.registry import find_layout
from holdfast.operations import record, step as stepping
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import VerbGroup, run_option, verb
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line, when

NAME = click.argument("name")
NEW = click.option("--new", is_flag=True, help="Add the step to a Go Team run that has none of this name.")


@click.group(cls=VerbGroup, example="holdfast step start testing --agent test-agent", no_args_is_help=True)
def step() -> None:
    """Steps of a run: start one, complete one, say that one failed, list them."""


@verb("holdfast step start testing --agent test-agent", "start", step)
@NAME
@click.option("--agent", metavar="A", help="Who works on it.")
@NEW
@run_option
def start(workspace: Workspace, name: str, agent: str | None, new: bool, run: str | None) -> Said:
    """Start a step, or start it again. One that nobody planned is added; in a Go Team run only with --new."""
    return _said(stepping.start_step(workspace, name, agent=agent, run=run, new=new))


@verb("holdfast step complete testing", "complete", step)
@NAME
@NEW
@run_option
def complete(workspace: Workspace, name: str, new: bool, run: str | None) -> Said:
    """Complete a step, also one that was never begun. The last one of a plan completes the run."""
    found = stepping.complete_step(workspace, name, run=run, new=new)
    said = _said(found)
    if found.completed and found.checkpoint:
        with workspace.reading() as journal:
            run_now = journal.get_run(found.run)
        screen = list(find_layout(run_now.layout).completed_screen(run_now))
        return Said(found, said.data, [*said.talk, *screen])
    return said


@verb('holdfast step fail testing --error "two tests are red"', "fail", step)
@NAME
@click.option("--error", metavar="TEXT", required=True, help="What went wrong.")
@NEW
@run_option
def fail(workspace: Workspace, name: str, error: str, new: bool, run: str | None) -> Said:
    """Say that a step failed, and why. The run goes on."""
    return _said(stepping.fail_step(workspace, name, error=error, run=run, new=new))


@verb("holdfast step list", "list", step)
@run_option
def list_(workspace: Workspace, run: str | None) -> Said:
    """The steps of a run, and how far each has come."""
    found = stepping.list_steps(workspace, run=run)
    if not found.steps:
        return Said(found, talk=["No step yet."])
    rows = [
        [str(number), one.status, one.name, one.agent or "-", when(one.ended or one.started), one.error or ""]
        for number, one in enumerate(found.steps, 1)
    ]
    return Said(found, lambda: terminal.table(["#", "state", "step", "agent", "since", "what"], rows))


def _said(found: stepping.Stepped) -> Said:
    now = "is" if found.changed else "was"
    already = "" if found.changed else " already"
    talk: list[Line] = [f"Step {one_line(found.step.name, 80)} of {found.run} {now} {found.step.status}{already}"]
    if found.checkpoint:
        talk.append(f"It is kept as {found.checkpoint}")
    if found.left:
        names = ", ".join(one_line(name, 60) for name in found.left[:5])
        talk.append(
            ("warn", f"{found.run} stays open, because these are not completed: {names}; `holdfast complete` ends it")
        )
    if found.completed:
        talk.append(f"It was the last one: {found.run} is completed")
    return Said(found, [found.step.name], talk)


@verb('holdfast error "the build fails with E0433"')
@click.argument("text")
@run_option
def error(workspace: Workspace, text: str, run: str | None) -> Said:
    """Record an error that was met. Prints the event's number."""
    found = record.error(workspace, text, run=run)
    return Said(found, [str(found.seq)], [f"Recorded on {found.run}"])
