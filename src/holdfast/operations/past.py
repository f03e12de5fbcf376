"""The archive: runs that have ended."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing
from holdfast.errors import WrongUsage
from holdfast.layouts.orchestrator import HISTORY
from holdfast.model import OPEN, Run, Status
from holdfast.projecting import adopt_history
from holdfast.stores.protocol import RunQuery
from holdfast.text import one_line
from holdfast.verbs import verb
from holdfast.workspace import Workspace

ARCHIVING = frozenset({"orchestrator"})
ENDED = frozenset(status.value for status in Status if status not in OPEN)
MOST = 10_000


class PastRuns(Struct):
    runs: list[Run]
    more: bool  # whether there are more than these


@verb
def past_runs(workspace: Workspace, number: int = 10, *, here: bool = False) -> PastRuns:
    """Runs that were completed, failed, aborted or abandoned; newest first."""
    damaged = adopt_history(workspace) if (workspace.root / HISTORY).is_dir() else []
    workspace.warnings += [f"{HISTORY}/{one_line(what, 200)} is passed over" for what in damaged]
    if not 1 <= number <= MOST:
        raise WrongUsage(f"A list has 1 to {MOST:,} rows", [("asked for", number)], ["`holdfast history 20`"])
    query = RunQuery(worktree=workspace.worktree if here else None, statuses=ENDED, limit=number)
    with workspace.reading() as journal:
        found, page = journal.list_runs(query)
        archived, _ = journal.list_runs(RunQuery(worktree=workspace.worktree, layouts=ARCHIVING, limit=MOST))
    found += [run for run in archived if run.archived and run.status.is_open]
    if archived:  # the orchestrator's history is in the order in which sessions began
        found = sorted(found, key=lambda run: (run.created is not None, run.created, run.id), reverse=True)[:number]
    if found:  # an empty list names nothing, so what was listed before still does
        choosing.remember(workspace, "run", [run.id for run in found])
    return PastRuns(found, page.next is not None)
