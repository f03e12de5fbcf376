"""Steps of a run: begin one, complete one, say that one failed, list them."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.fold import steps
from holdfast.core.fold.external import refuse_owned
from holdfast.core.fold.team import Meant
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Body, Draft, Run, Step
from holdfast.core.text import checked
from holdfast.ingest.preview import previewed
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.sessions import settle
from holdfast.project.workspace import Workspace


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


@verb
def start_step(
    workspace: Workspace, name: str, *, agent: str | None = None, run: str | None = None, new: bool = False
) -> Stepped:
    """Begin a step, or begin it again. A step that nobody planned is added; in a Go Team run only if it is `new`."""
    name = steps.checked_name(name)
    if agent is not None:
        checked(agent, "agent", steps.NAME_LIMIT)
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        name = find_layout(found.layout).find_step(found, name, new).step
        before = steps.find_step(found, name)
        same = before is not None and before.status == steps.ACTIVE and agent in (None, before.agent)
        return _told(journal, found, "step.started", {"name": name, "agent": agent}, same)


@verb
def complete_step(workspace: Workspace, name: str, *, run: str | None = None, new: bool = False) -> Stepped:
    """Complete a step, also one that was never begun. Where it is the last of a plan, the run is completed.

    In a Go Team run each completed step, and each turn of its review loop, is kept as a checkpoint.
    """
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


@verb
def fail_step(workspace: Workspace, name: str, *, error: str, run: str | None = None, new: bool = False) -> Stepped:
    """Say that a step failed, and why. The run goes on; `holdfast fail` ends it."""
    name = steps.checked_name(name)
    checked(error, "error")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        name = find_layout(found.layout).find_step(found, name, new).step
        before = steps.find_step(found, name)
        same = before is not None and before.status == steps.FAILED
        return _told(journal, found, "step.failed", {"name": name, "error": error}, same)


@previewed
@verb
def list_steps(workspace: Workspace, *, run: str | None = None) -> StepsListed:
    """The steps of a run, in the order of its plan."""
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
        raise WrongUsage("A run cannot have more steps than this", [("steps", steps.MOST)], hints)
    return Stepped(run.id, step, not same)
