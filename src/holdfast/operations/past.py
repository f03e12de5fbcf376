"""The archive: runs that have ended."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing
from holdfast.errors import WrongUsage
from holdfast.model import OPEN, Run, Status
from holdfast.stores.protocol import RunQuery
from holdfast.verbs import verb
from holdfast.workspace import Workspace

ENDED = frozenset(status.value for status in Status if status not in OPEN)
MOST = 10_000


class PastRuns(Struct):
    runs: list[Run]
    more: bool  # whether there are more than these


@verb
def past_runs(workspace: Workspace, number: int = 10, *, here: bool = False) -> PastRuns:
    """Runs that were completed, failed, aborted or abandoned; newest first."""
    if not 1 <= number <= MOST:
        raise WrongUsage(f"A list has 1 to {MOST:,} rows", [("asked for", number)], ["`holdfast history 20`"])
    query = RunQuery(worktree=workspace.worktree if here else None, statuses=ENDED, limit=number)
    with workspace.reading() as journal:
        found, page = journal.list_runs(query)
    if found:  # an empty list names nothing, so what was listed before still does
        choosing.remember(workspace, "run", [run.id for run in found])
    return PastRuns(found, page.next is not None)
