"""Lists of runs: of this project, of all projects, of those that have ended, and by their disk usage."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import HoldfastError, NotFound, WrongUsage
from holdfast.core.model import OPEN, Run, Status
from holdfast.core.question import Choose, Instead
from holdfast.core.text import one_line
from holdfast.ingest.all_projects import visit_all
from holdfast.journal.codec import ARCHIVED
from holdfast.journal.journal import is_ledger
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout, layouts
from holdfast.operations.parameters import Kind, Parameter, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.known_projects import Claim
from holdfast.project.quota import Room, cap_of, measure_usage
from holdfast.project.runs import select
from holdfast.project.search import ranking, suggestion
from holdfast.project.workspace import Workspace
from holdfast.system import locate
from holdfast.system.safe_paths import real_path

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
ENDED = frozenset({ARCHIVED, *(status.value for status in Status if status not in OPEN)})
MOST = 10_000  # rows of the history

Statuses = Annotated[
    tuple[str, ...], option(metavar="STATUS", help="Only runs of this status, or `open`. Can be repeated.")
]
Layouts = Annotated[tuple[str, ...], option(metavar="LAYOUT", help="Only runs of this layout. Can be repeated.")]
AgentName = Annotated[str | None, option(metavar="NAME", help="Only runs that this agent worked on.")]
Tag = Annotated[str | None, option(metavar="TAG", help="Only runs with this tag.")]
Since = Annotated[datetime | None, option(metavar="WHEN", help="Active since: 2026-11-01, or 3d, 12h, 30m ago.")]
Until = Annotated[datetime | None, option(metavar="WHEN", help="Active before.")]
Words = Annotated[
    str | None, option(metavar="TEXT", help='Words in goals, prompts, answers, files; `begin*`, "a phrase".')
]
Limit = Annotated[int | None, option(least=1, most=10_000, metavar="N", help="At most N rows.")]


class RunsListed(Struct):
    runs: list[Run]
    next: str | None  # key of the next page
    partial: bool = False  # no event has all words of the search; these runs have events with most of them
    suggestion: str | None = None  # the search with misspelt words corrected


@verb(
    group=Group.SEE,
    example='holdfast runs --status open --search "retry back*"',
    about="runs of this project, newest first; search them",
    common=True,
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
    """List the runs of this project, newest first, or the best match of a search first.

    The next command takes a row's number for its run.
    """
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
        **ranking(workspace),
    )
    with workspace.reading() as journal:
        found, page = journal.list_runs(query)
        spelt = suggestion(workspace, journal, search) if search and (page.is_partial or not found) else None
    select.remember(workspace, "run", [run.id for run in found])
    return RunsListed(found, f"{page.next[0]}.{page.next[1]}" if page.next else None, page.is_partial, spelt)


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


class Elsewhere(Struct):
    """A run and its project."""

    project: str
    run: Run
    directory: str  # to resume it in: its own, if that still belongs to the project


class PassedOver(Struct):
    """A project that could not be read."""

    project: str
    why: str


def passed_over(failed: list[tuple[Claim, HoldfastError]]) -> list[PassedOver]:
    return [PassedOver(claim.root, error.message) for claim, error in failed]


class RunsEverywhere(Struct):
    runs: list[Elsewhere]
    passed_over: list[PassedOver]


@verb("runs --all-projects", changes=False)
def everywhere(
    workspace: Workspace,
    *,
    status: Statuses = (),
    layout: Layouts = (),
    agent: AgentName = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    search: Words = None,
    limit: Limit = None,
) -> RunsEverywhere:
    """List the runs of every project of this user on this machine, newest first, or the best match of a search first.

    Projects that cannot be read are named.
    """
    query = RunQuery(
        statuses=select.statuses(status, "runs"),
        layouts=select.layouts(layout),
        labels=select.labels(agent, tag),
        since=select.moment(since),
        until=select.moment(until),
        search=search,
        limit=select.length(workspace, limit),
        **ranking(workspace),
    )
    read, failed = visit_all(workspace, lambda claim, _, journal: (claim, *journal.list_runs(query)))
    is_partial = all(page.is_partial for _, runs, page in read if runs)
    found = [
        (score, Elsewhere(claim.root, run, directory_of(run, claim)))
        for claim, runs, page in read
        if page.is_partial == is_partial
        for run, score in zip(runs, page.scores or [0.0] * len(runs), strict=True)
    ]
    found.sort(key=lambda each: (each[0], each[1].run.updated or LONG_AGO), reverse=True)
    return RunsEverywhere([each for _, each in found[: query.limit]], passed_over(failed))


def directory_of(run: Run, claim: Claim) -> str:
    """Return the run's directory; the project's if the run is of another machine or its worktree is gone."""
    if not os.path.isabs(run.directory) or not os.path.isdir(run.directory):
        return claim.root
    _, store = locate.locate_store(real_path(run.directory))
    return run.directory if store == claim.path else claim.root


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


class Sized(Struct):
    """Bytes that one run alone uses."""

    run: str
    title: str
    status: str
    total: int
    events: int  # with the folded state
    values: int  # large values that no other run refers to
    checkpoints: int  # objects that no newer checkpoint of any run shares


class RunsSized(Struct):
    runs: list[Sized]  # largest first
    others: int  # bytes of runs that are not listed
    rest: dict[str, int]  # category of data that belongs to no run alone -> bytes
    room: Room  # the total of the runs, the others and the rest
    cap: int  # limit of the store, in bytes


@verb("runs --size", changes=False)
def sizes(
    workspace: Workspace,
    *,
    limit: Limit = None,
) -> RunsSized:
    """List the disk usage of each run, largest first."""
    if limit is not None and limit < 1:
        raise WrongUsage("A list has at least one row", [("limit", limit)])
    weights = _weights(workspace)
    with workspace.reading() as journal:
        stored = {found.run: found for found in journal.view.run_sizes()}
        totals = Counter({run: found.total + weights[run] for run, found in stored.items() if not is_ledger(run)})
        listed = []
        for name, total in totals.most_common(limit or workspace.settings.whole("list.limit")):
            run, size = journal.get_run(name), stored[name]
            listed.append(Sized(name, run.title, run.status, total, size.events, size.values, weights[name]))
        shared = journal.view.shared_bytes()
    room = measure_usage(workspace)
    own = sum(found.total for run, found in stored.items() if not is_ledger(run))
    ledgers = sum(found.total for run, found in stored.items() if is_ledger(run))
    of_runs = sum(weights[run] for run in totals)
    rest = {
        "values that several runs share": shared,
        "records of checkpoints": ledgers,
        "indexes, search and free pages": max(0, room.journal - own - ledgers - shared),  # a store may compress
        "checkpoints of no run, and packs": room.checkpoints - of_runs,
        "inbox": room.inbox,
        "copies and backups": room.copies,
        "put aside": room.aside,
        "caches": room.caches,
        "the rest": room.rest,
    }
    return RunsSized(listed, own + of_runs - sum(found.total for found in listed), rest, room, cap_of(workspace))


def _weights(workspace: Workspace) -> Counter[str]:
    """Return the bytes of each run's checkpoints that no newer one shares; the empty key is for those of no run."""
    with workspace.reading() as journal:
        made = list(journal.list_checkpoints())
    if not made:
        return Counter()
    from holdfast.project.checkpoints.create import shadow_of
    from holdfast.worktree.packs.reachability import weigh  # other lists need neither

    with shadow_of(workspace) as shadow:
        roots = {found.id: [found.tree, *filter(None, [found.staged]), found.beside] for found in made}
        weights = weigh(shadow, roots)
    found_by_run: Counter[str] = Counter()
    for found in made:
        found_by_run[found.run or ""] += weights[found.id]
    return found_by_run
