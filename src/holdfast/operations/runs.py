"""Runs of this project, newest first; a page at a time, all or those that fit."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.ingest.preview import previewed
from holdfast.journal.store import RunQuery
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class RunsListed(Struct):
    runs: list[Run]
    next: str | None  # the key of the next page


@previewed
@verb
def runs(
    workspace: Workspace,
    *,
    status: tuple[str, ...] = (),
    layout: tuple[str, ...] = (),
    agent: str | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    search: str | None = None,
    here: bool = False,
    limit: int | None = None,
    after: str | None = None,
) -> RunsListed:
    """Runs of this project, newest first; a page at a time."""
    query = RunQuery(
        statuses=select.statuses(status, "runs"),
        layouts=select.layouts(layout),
        labels=select.labels(agent, tag),
        worktree=workspace.worktree if here else None,
        since=select.moment(since),
        until=select.moment(until),
        search=search,
        limit=select.length(workspace, limit),
        after=_page_key(after),
    )
    with workspace.reading() as journal:
        found, page = journal.list_runs(query)
    select.remember(workspace, "run", [run.id for run in found])
    return RunsListed(found, f"{page.next[0]}.{page.next[1]}" if page.next else None)


def _page_key(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, second = text.partition(".")
    if not all(part.isdecimal() and len(part) < 19 for part in (first, second)):
        raise WrongUsage(
            "This is not the key of a page", [("key", one_line(text, 40))], ["take `next` from the last page"]
        )
    return int(first), int(second)
