"""Runs of this project, newest first, filtered and paged; the filters that other lists share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import Run
from holdfast.core.question import Choose
from holdfast.core.text import one_line
from holdfast.journal.store import RunQuery
from holdfast.operations.parameters import option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

Statuses = Annotated[
    tuple[str, ...], option(metavar="STATUS", help="Only runs of this status, or `open`. Can be repeated.")
]
Layouts = Annotated[tuple[str, ...], option(metavar="LAYOUT", help="Only runs of this layout. Can be repeated.")]
AgentName = Annotated[str | None, option(metavar="NAME", help="Only runs that this agent worked on.")]
Tag = Annotated[str | None, option(metavar="TAG", help="Only runs with this tag.")]
Since = Annotated[datetime | None, option(metavar="WHEN", help="Active since: 2026-11-01, or 3d, 12h, 30m ago.")]
Until = Annotated[datetime | None, option(metavar="WHEN", help="Active before.")]
Words = Annotated[
    str | None, option(metavar="TEXT", help='Words in goals, prompts, decisions, files; `begin*`, "a phrase".')
]
Limit = Annotated[int | None, option(least=1, most=10_000, metavar="N", help="At most N rows.")]


class RunsListed(Struct):
    runs: list[Run]
    next: str | None  # key of the next page


@verb(
    group=Group.SEE,
    example='holdfast runs --status open --search "retry back*"',
    about="runs of this project, newest first; search them",
    common=True,
    changes=False,
    previews=True,
)
def runs(
    workspace: Workspace,
    *,
    status: Statuses = (),
    layout: Layouts = (),
    agent: AgentName = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    search: Words = None,
    here: Annotated[bool, option(help="Only runs of this worktree.")] = False,
    limit: Limit = None,
    after: Annotated[str | None, option(metavar="KEY", help="The page that follows this key.")] = None,
) -> RunsListed:
    """List the runs of this project, newest first. The next command takes a row's number for its run."""
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


def which_run(parameter: str, found: list[Run]) -> Choose:
    """Return the question that selects one of these runs."""
    if not found:
        hints = ["`holdfast runs` lists all", '`holdfast start "GOAL"` starts one']
        raise NotFound("There is no run to choose", [], hints)
    options = tuple((run.id, f"{run.status}, {one_line(run.title, 80)}") for run in found)
    return Choose(
        parameter=parameter, prompt="Which run", options=options, hints=("name one of them", "`holdfast runs`")
    )


def _page_key(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, second = text.partition(".")
    if not all(part.isdecimal() and len(part) < 19 for part in (first, second)):
        facts = [("key", one_line(text, 40))]
        raise WrongUsage("There is no page with this key", facts, ["take `next` of the page before"])
    return int(first), int(second)
