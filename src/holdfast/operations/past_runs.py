"""History: runs that have ended."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import OPEN, Run, Status
from holdfast.core.question import Instead
from holdfast.journal.codec import ARCHIVED
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout, layouts
from holdfast.operations.parameters import Kind, Parameter, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

ENDED = frozenset({ARCHIVED, *(status.value for status in Status if status not in OPEN)})
MOST = 10_000


class PastRuns(Struct):
    runs: list[Run]
    more: bool  # the list was cut
    words: dict[str, str] = {}  # by run: the status in the file of an orchestrator's session


def _find_row(workspace: Workspace, given: Arguments, can_ask: bool) -> Instead | None:
    """Show one run of the list in full. Resuming it is `resume`'s."""
    if (row := given.get("row")) is None:
        return None
    found = past_runs(workspace, max(given.get("number", 10), row), here=given.get("here", False)).runs
    if row > len(found):
        raise NotFound(f"The history has no row {row}", [("rows", len(found))], ["`holdfast history`"])
    return Instead("show", {"name": found[row - 1].id})


@verb(
    "history",
    group=Group.SEE,
    example="holdfast history --limit 20",
    about="runs that have ended, newest first",
    changes=False,
    options=(Parameter(metavar="[N]", kind=Kind.NUMBER, least=1, most=MOST, target="row"),),
    previews=True,
    asks=_find_row,
)
def past_runs(
    workspace: Workspace,
    number: Annotated[
        int, option("--limit", least=1, most=MOST, metavar="N", help="At most N rows; 10 by default.")
    ] = 10,
    *,
    here: Annotated[bool, option(help="Only runs of this worktree.")] = False,
) -> PastRuns:
    """List runs that were completed, failed, aborted, abandoned or archived, newest first; or show the one in row N."""
    archives = [layout for layout in layouts() if layout.has_archive(workspace)]
    for layout in archives:
        layout.ingest_archive(workspace)
    if not 1 <= number <= MOST:
        raise WrongUsage(f"A list has 1 to {MOST:,} rows", [("asked for", number)], ["`holdfast history 20`"])
    here_only = workspace.worktree if here else None
    query = RunQuery(worktree=here_only, statuses=ENDED, limit=MOST if archives else number)
    with workspace.reading() as journal:
        found, page = journal.list_runs(query)
    if archives:  # sorted by creation
        found.sort(key=lambda run: (run.created is not None, run.created, run.id), reverse=True)
    has_more, found = page.next is not None or len(found) > number, found[:number]
    if found:  # rows of the last list stay valid after an empty one
        select.remember(workspace, "run", [run.id for run in found])
    named = ((run.id, find_layout(run.layout).find_word(workspace, run)) for run in found)
    words = {id: word for id, word in named if word is not None}
    return PastRuns(found, has_more, words)
