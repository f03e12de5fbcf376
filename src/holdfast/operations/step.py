"""Steps of a run: begin one, complete one, say that one failed, list them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.fold import steps
from holdfast.core.fold.external import refuse_owned
from holdfast.core.fold.team import Meant
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Body, Draft, Run, Step
from holdfast.core.text import checked
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, family, verb
from holdfast.project.runs import select
from holdfast.project.sessions import settle
from holdfast.project.workspace import Workspace

family(
    "step",
    Group.TELL,
    about="steps of a run: start, complete, fail, list",
    help="Steps of a run: start one, complete one, say that one failed, list them.",
    example="holdfast step start testing --agent test-agent",
)


class Stepped(Struct):
    run: str
    step: Step
    changed: bool
    completed: bool = False  # whether the run is completed by it
    left: list[str] = []  # steps that keep the run open though the last one of its plan is completed
    checkpoint: str | None = None  # the one that keeps it, in a Go Team run


class StepsListed(Struct):
    run: str
    steps: list[Step]


@verb("step start", example="holdfast step start testing --agent test-agent")
def start_step(
    workspace: Workspace,
    name: Annotated[str, argument()],
    *,
    agent: Annotated[str | None, option(metavar="A", help="Who works on it.")] = None,
    run: RunName = None,
    new: Annotated[bool, option(help="Add the step to a Go Team run that has none of this name.")] = False,
) -> Stepped:
    """Start a step, or start it again. One that nobody planned is added; in a Go Team run only with --new."""
    name = steps.checked_name(name)
    if agent is not None:
        checked(agent, "agent", steps.NAME_LIMIT)
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        name = find_layout(found.layout).find_step(found, name, new).step
        before = steps.find_step(found, name)
        same = before is not None and before.status == steps.ACTIVE and agent in (None, before.agent)
        return _told(journal, found, "step.started", {"name": name, "agent": agent}, same)


@verb("step complete", example="holdfast step complete testing")
def complete_step(
    workspace: Workspace,
    name: Annotated[str, argument()],
    *,
    run: RunName = None,
    new: Annotated[bool, option(help="Add the step to a Go Team run that has none of this name.")] = False,
) -> Stepped:
    """Complete a step, also one that was never begun. The last one of a plan completes the run."""
    name = steps.checked_name(name)
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        meant = find_layout(found.layout).find_step(found, name, new)
        keeps = journal.rules_of(found).has_numbered_steps
        before = steps.find_step(found, meant.step)
        is_kept = not keeps or _is_kept(found, meant)
        same = before is not None and before.status == steps.COMPLETED and is_kept
        kind = "step.completed" if meant.completes else "step.started"
        result = _told(journal, found, kind, {"name": meant.step}, same or _is_at_it(before, meant))
    if keeps and not same:
        result.checkpoint = find_layout(found.layout).keep_step(workspace, found.id, meant).id
        result.changed = True
    with workspace.writing() as journal:
        if result.changed and meant.completes and steps.is_through(journal.get_run(found.id)):
            result.completed = settle(journal, journal.get_run(found.id), Move.COMPLETE, "all steps are completed")
        elif meant.completes:
            result.left = steps.left_behind(journal.get_run(found.id), meant.step)
    return result


def _is_kept(run: Run, meant: Meant) -> bool:
    """Whether a completed step has its checkpoint: a kill may have prevented that."""
    kept = [found for found in run.standing.kept if found.step == meant.step and found.is_valid and found.completes]
    return meant.completes and bool(kept)


def _is_at_it(step: Step | None, meant: Meant) -> bool:
    """Whether the step's own status stays: one turn of a loop that goes on."""
    return not meant.completes and step is not None and step.status == steps.ACTIVE


@verb("step fail", example='holdfast step fail testing --error "two tests are red"')
def fail_step(
    workspace: Workspace,
    name: Annotated[str, argument()],
    *,
    error: Annotated[str, option(metavar="TEXT", help="What went wrong.")],
    run: RunName = None,
    new: Annotated[bool, option(help="Add the step to a Go Team run that has none of this name.")] = False,
) -> Stepped:
    """Say that a step failed, and why. The run goes on."""
    name = steps.checked_name(name)
    checked(error, "error")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        name = find_layout(found.layout).find_step(found, name, new).step
        before = steps.find_step(found, name)
        same = before is not None and before.status == steps.FAILED
        return _told(journal, found, "step.failed", {"name": name, "error": error}, same)


@verb("step list", example="holdfast step list", changes=False, previews=True)
def list_steps(workspace: Workspace, *, run: RunName = None) -> StepsListed:
    """The steps of a run, and how far each has come."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        return StepsListed(found.id, found.steps)


def _told(journal: Journal, run: Run, kind: str, body: Body, same: bool) -> Stepped:
    if run.owned:
        refuse_owned(run, "its phases and steps are told by its state file")
    if not same:
        transition(run.status, Move.RESUME)  # refuses what has ended
        journal.append(run.id, Draft(kind, {key: value for key, value in body.items() if value is not None}))
    step = steps.find_step(journal.get_run(run.id), body["name"])
    if step is None:
        hints = ["take a step that it has: `holdfast step list`"]
        raise WrongUsage("A run cannot have more steps than this", [("steps", steps.MOST_STEPS)], hints)
    return Stepped(run.id, step, not same)
