"""Full-text search over events, best match first: of this project, of all projects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from msgspec import Struct

from holdfast.core import search_terms
from holdfast.core.errors import WrongUsage
from holdfast.core.event_text import SORT_OF, SORTS, passage
from holdfast.core.model import Event, Run, Status
from holdfast.core.text import one_line, sound_text
from holdfast.ingest.all_projects import visit_all
from holdfast.journal.journal import Journal
from holdfast.journal.store import Hit, HitQuery, Hits, RunQuery
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.runs import (
    AgentName,
    Layouts,
    Limit,
    PassedOver,
    Since,
    Statuses,
    Tag,
    Until,
    directory_of,
    passed_over,
)
from holdfast.operations.verb import Group, verb
from holdfast.project.checkpoints.describe import find_after
from holdfast.project.known_projects import Claim
from holdfast.project.runs import select
from holdfast.project.search import ranking, suggestion
from holdfast.project.workspace import Workspace

WIDTH = 160  # characters of an excerpt


class Found(Struct):
    """An event that matches a search."""

    run: str
    seq: int
    kind: str  # `goal`, `decision`, `note`, `task`, `prompt`, `said`, `action` or `error`
    time: datetime
    title: str  # of the run
    status: Status  # of the run
    session: str | None
    text: str  # an excerpt with the words
    marks: list[tuple[int, int]]  # the words in the excerpt: begin and end, in characters
    checkpoint: str | None = None  # the first one that holds the effect of the event


class Searched(Struct):
    search: str
    found: list[Found]
    ranked: bool  # best match first; else newest first, on request or because the words are too common to rank
    partial: bool = False  # no event has all words; these have most of them, rare ones first
    suggestion: str | None = None  # the search with misspelt words corrected


class FoundElsewhere(Found, kw_only=True):
    """An event that matches a search, and its project."""

    project: str
    directory: str  # to go on with its run in


class SearchedEverywhere(Struct):
    search: str
    found: list[FoundElsewhere]
    ranked: bool
    passed_over: list[PassedOver]
    partial: bool = False
    suggestion: str | None = None


EventKinds = Annotated[tuple[str, ...], option(choices=tuple(SORTS), help="Only events of this kind. Can be repeated.")]
Newest = Annotated[bool, option(help="Newest first instead of best match first.")]
Text = Annotated[str, argument(metavar="TEXT...", kind=Kind.WORDS)]


@verb(
    group=Group.SEE,
    example="holdfast search '\"exponential backoff\" retr*' --kind decision",
    about="search events, best match first",
    common=True,
    previews=True,
)
def search(
    workspace: Workspace,
    text: Text,
    *,
    status: Statuses = (),
    layout: Layouts = (),
    agent: AgentName = None,
    tag: Tag = None,
    run: Annotated[str | None, option(metavar="RUN", kind=Kind.RUN, help="Only in this run; else in all runs.")] = None,
    kind: EventKinds = (),
    since: Since = None,
    until: Until = None,
    newest: Newest = False,
    limit: Limit = None,
) -> Searched:
    """Search goals, prompts, answers, decisions, notes, tasks, files and errors for all these words, best match first.

    Where no event has all words, those with most of them are found. A word that occurs nowhere is corrected.
    """
    runs = RunQuery(
        statuses=select.statuses(status, "search"), layouts=select.layouts(layout), labels=select.labels(agent, tag)
    )
    query = _query(workspace, text, runs, kind, since, until, newest, limit)
    with workspace.reading() as journal:
        hits = journal.view.hits(query._replace(run=select.find_by_name(workspace, journal, run).id if run else None))
        found = [Found(**_fields(journal, hit, text, workspace.hide, hits.is_partial)) for hit in hits.found]
        _add_checkpoints(journal, found)
        spelt = suggestion(workspace, journal, text) if hits.is_partial or not found else None
    return Searched(_shown(workspace, text), found, hits.is_ranked, hits.is_partial, spelt)


@verb("search --all-projects", changes=False)
def search_everywhere(
    workspace: Workspace,
    text: Text,
    *,
    status: Statuses = (),
    layout: Layouts = (),
    agent: AgentName = None,
    tag: Tag = None,
    kind: EventKinds = (),
    since: Since = None,
    until: Until = None,
    newest: Newest = False,
    limit: Limit = None,
) -> SearchedEverywhere:
    """Search the events of every project of this user on this machine.

    Projects that cannot be read are named.
    """
    runs = RunQuery(
        statuses=select.statuses(status, "search"), layouts=select.layouts(layout), labels=select.labels(agent, tag)
    )
    query = _query(workspace, text, runs, kind, since, until, newest, limit)

    def look(claim: Claim, other: Workspace, journal: Journal) -> tuple[Hits, list[FoundElsewhere], str | None]:
        hits = journal.view.hits(query)
        found = [
            FoundElsewhere(
                **_fields(journal, hit, text, lambda value: workspace.hide(other.hide(value)), hits.is_partial),
                project=claim.root,
                directory=directory_of(journal.get_run(hit.run), claim),
            )
            for hit in hits.found
        ]
        return hits, found, suggestion(workspace, journal, text) if hits.is_partial or not found else None

    read, failed = visit_all(workspace, look)
    fitting = [hits for hits, found, _ in read if found]
    is_partial = bool(fitting) and all(hits.is_partial for hits in fitting)
    is_ranked = not newest and all(hits.is_ranked for hits in fitting)
    scored = [
        (hit.score if is_ranked else 0.0, each)
        for hits, found, _ in read
        for hit, each in zip(hits.found, found, strict=True)
        if hits.is_partial == is_partial
    ]
    scored.sort(key=lambda each: (each[0], each[1].time), reverse=True)
    best = [each for _, each in scored[: query.limit]]
    spelt = next((each for _, _, each in read if each), None) if is_partial or not best else None
    return SearchedEverywhere(_shown(workspace, text), best, is_ranked, passed_over(failed), is_partial, spelt)


def _query(
    workspace: Workspace, text: str, runs: RunQuery, kind: tuple[str, ...], since: datetime | None,
    until: datetime | None, newest: bool, limit: int | None,
) -> HitQuery:  # fmt: skip
    order = ranking(workspace)
    return HitQuery(
        search=text,
        runs=runs,
        kinds=frozenset(found for word in kind for found in _kinds(word)),
        since=select.moment(since),
        until=select.moment(until),
        merits=None if newest else order["merits"],
        now=order["now"],
        most=order["most"],
        limit=select.length(workspace, limit),
    )


def _shown(workspace: Workspace, text: str) -> str:
    return str(workspace.hide(sound_text(text)))[: search_terms.LONGEST]


def _kinds(word: str) -> tuple[str, ...]:
    if word not in SORTS:
        facts = [("known", ", ".join(SORTS))]
        raise WrongUsage(f'There is no kind of event "{one_line(word, 40)}"', facts, ["`holdfast search --help`"])
    return SORTS[word]


def _fields(
    journal: Journal, hit: Hit, text: str, hide: Callable[[list[str]], list[str]], is_partial: bool
) -> dict[str, Any]:
    run: Run = journal.get_run(hit.run)
    event: Event = next(journal.events(hit.run, after=hit.seq - 1, until=hit.seq))
    # safeguard: hide-search
    words, title = hide([passage(event), run.title])  # before the excerpt is cut: half a secret is not recognised
    piece = search_terms.excerpt(words, text, WIDTH, is_partial=is_partial)
    return {
        "run": run.id,
        "seq": event.seq,
        "kind": SORT_OF.get(event.kind, event.kind),
        "time": event.time,
        "title": title,
        "status": run.status,
        "session": event.session,
        "text": piece.text,
        "marks": piece.marks,
    }


def _add_checkpoints(journal: Journal, found: list[Found]) -> None:
    """Name the checkpoint to go to for each event."""
    made = {run: list(journal.list_checkpoints(run=run)) for run in {hit.run for hit in found}}
    for hit in found:
        after = find_after(made[hit.run], hit.run, hit.seq)
        hit.checkpoint = after.id if after else None
