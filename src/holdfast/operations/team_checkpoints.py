"""Checkpoints as a whole: prove that they are what they say, and put them into one file that can be carried away."""

from __future__ import annotations

from msgspec import Struct

from holdfast.layouts.registry import find_layout
from holdfast.layouts.results import Examined as Examined, Exported as Exported
from holdfast.maintenance.verify import prove
from holdfast.operations.parameters import RunName
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class Validated(Struct):
    run: str | None
    checkpoints: list[Examined]
    whole: bool


@verb("checkpoints validate", changes=False)
def validate_checkpoints(workspace: Workspace, *, run: RunName = None) -> Validated:
    """Prove that checkpoints are whole: the code of this worktree's; of a Go Team run also its files."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        of_run = found.id if journal.rules_of(found).has_numbered_steps else None
        listed = list(journal.list_checkpoints(workspace.worktree, run=of_run))
    told = prove(workspace, listed, deep=False).problems
    broken = {made.id: [problem.what for problem in told if made.id in problem.where] for made in listed}
    examined = find_layout(found.layout).examine_checkpoints(workspace, found, broken)
    if examined is None:
        examined = [Examined(made.id, broken[made.id]) for made in listed]
    return Validated(found.id, examined, not told and not any(one.problems for one in examined))


@verb("checkpoints export")
def export_checkpoints(workspace: Workspace, *, run: RunName = None) -> Exported:
    """Put the files of a Go Team run and the code of its checkpoints into one archive, with its digest beside it."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
    return find_layout(found.layout).export_checkpoints(workspace, found)
