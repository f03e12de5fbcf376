"""Take away the files of Go Team runs that are over: by age and by number, and never those of an open one."""

from __future__ import annotations

from msgspec import Struct

from holdfast.layouts.registry import present
from holdfast.operations.verb import verb
from holdfast.project.workspace import Workspace

DAYS, KEPT = 30, 5


class Cleaned(Struct):
    runs: list[str]  # whose files went, or would go
    topics: list[str]
    kept: int  # how many of those that are over stay
    dry_run: bool


@verb
def cleanup(workspace: Workspace, *, days: int = DAYS, keep: int = KEPT, dry_run: bool = False) -> Cleaned:
    """Remove the files of runs that are completed or abandoned: older ones, and all but the newest few.

    What a run knows stays in the journal, and its checkpoints stay; one with a pinned checkpoint is left as it is.
    """
    found = [layout.clean_up(workspace, days, keep, dry_run=dry_run) for layout in present(workspace)]
    gone = [run for runs, _ in found for run in runs]
    return Cleaned([run.id for run in gone], [run.title for run in gone], sum(kept for _, kept in found), dry_run)
