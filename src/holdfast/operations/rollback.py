"""Rollback: restore both the code and the run's state of a checkpoint."""

from __future__ import annotations

from typing import Annotated

from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.model import Checkpoint, Restore, Run
from holdfast.core.question import Choose, confirmation
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import YES, DryRun, Kind, RunName, argument, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.restore import Restored, restore_to
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


def _ask_to_roll_back(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if given.get("yes") or given.get("dry_run"):
        return None
    run, force = given.get("run"), given.get("force", False)
    planned = rollback(workspace, given["checkpoint"], run=run, dry_run=True, force=force)
    if not (planned.acts or planned.later_events):
        return None
    command = f"holdfast rollback {planned.to}{f' --run {run}' if run else ''}"
    to = {"checkpoint": planned.to}
    return confirmation(f"Go back to {planned.to}?", command, about=planned, arguments=to)


@verb(
    group=Group.BACK,
    example="holdfast rollback 3 --yes",
    about="restore both the code and the run's state",
    asks=_ask_to_roll_back,
    options=(YES,),
)
def rollback(
    workspace: Workspace,
    checkpoint: Annotated[str, argument(metavar="N|CHECKPOINT", kind=Kind.CHECKPOINT)],
    *,
    run: RunName = None,
    dry_run: DryRun = False,
    force: Annotated[bool, option(help="Even over changes of another live session, or from another worktree.")] = False,
) -> Restored:
    """Restore both the code and the run's state of a checkpoint. `holdfast undo` takes it back.

    N is a row of the last list of checkpoints; without a list, it counts from the newest.
    """

    def choose(journal: Journal) -> Restore:
        found = select.get_run(workspace, journal, run, ended_too=True)
        target = find_layout(found.layout).get_checkpoint(workspace, journal, found, checkpoint)
        _refuse_without_state(target, found)
        id, now = ids.make("res"), workspace.clock.now()
        return Restore(id, now, before="", target=target.id, run=found.id, seq_after=target.seq, verb="rollback")

    with workspace.reading() as journal:
        meant = select.get_run(workspace, journal, run, ended_too=True)
    layout = find_layout(meant.layout)
    if layout.RULES.has_numbered_steps:
        layout.prepare_return(workspace, meant, checkpoint)
        layout.refuse_return(meant, restore_to(workspace, choose, dry_run=True, force=force))
    return restore_to(workspace, choose, dry_run=dry_run, force=force)


def _refuse_without_state(target: Checkpoint, run: Run) -> None:
    """Refuse a checkpoint that holds no state of this run."""
    if target.run == run.id and target.seq is not None:
        return
    code = f"`holdfast restore {target.id}` restores the code alone"
    if target.run is None or target.seq is None:
        facts = [("checkpoint", target.id)]
        raise Refused("This checkpoint was made without a run, so it holds no state", facts, [code])
    raise Refused(
        "This checkpoint belongs to another run",
        [("checkpoint", target.id), ("its run", target.run), ("this run", run.id)],
        [code, f"`holdfast rollback {target.id} --run {target.run}` rolls that run back"],
    )
