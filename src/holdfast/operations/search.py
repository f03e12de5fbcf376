"""Full-text search over events, best match first."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from holdfast.core import search_terms
from holdfast.core.errors import WrongUsage
from holdfast.core.event_text import MERITS, SORT_OF, SORTS, passage
from holdfast.core.model import Event, Run, Status
from holdfast.core.text import one_line, sound_text
from holdfast.journal.journal import Journal
from holdfast.journal.store import Hit, HitQuery, RunQuery
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.runs import AgentName, Layouts, Limit, Since, Statuses, Tag, Until
from holdfast.operations.verb import Group, verb
from holdfast.project.checkpoints.describe import find_after
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

WIDTH = 160  # characters of an excerpt
BY_MERIT = {kind: MERITS[sort] for kind, sort in SORT_OF.items()}


class Found(Struct):
    """An event that matches a search."""

    run: str
    seq: int
    kind: str  # `goal`, `decision`, `note`, `task`, `prompt`, `action` or `error`
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


@verb(
    group=Group.SEE,
    example="holdfast search '\"exponential backoff\" retr*' --kind decision",
    about="search events, best match first",
    common=True,
    previews=True,
)
def search(
    workspace: Workspace,
    text: Annotated[str, argument(metavar="TEXT...", kind=Kind.WORDS)],
    *,
    status: Statuses = (),
    layout: Layouts = (),
    agent: AgentName = None,
    tag: Tag = None,
    run: Annotated[str | None, option(metavar="RUN", kind=Kind.RUN, help="Only in this run; else in all runs.")] = None,
    kind: Annotated[
        tuple[str, ...], option(choices=tuple(SORTS), help="Only events of this kind. Can be repeated.")
    ] = (),
    since: Since = None,
    until: Until = None,
    newest: Annotated[bool, option(help="Newest first instead of best match first.")] = False,
    limit: Limit = None,
) -> Searched:
    """Search goals, prompts, decisions, notes, tasks, files and errors for all these words, best match first."""
    with workspace.reading() as journal:
        query = HitQuery(
            search=text,
            runs=RunQuery(
                statuses=select.statuses(status, "search"),
                layouts=select.layouts(layout),
                labels=select.labels(agent, tag),
            ),
            run=select.find_by_name(workspace, journal, run).id if run else None,
            kinds=frozenset(found for word in kind for found in _kinds(word)),
            since=select.moment(since),
            until=select.moment(until),
            merits=None if newest else BY_MERIT,
            limit=select.length(workspace, limit),
        )
        hits, is_ranked = journal.view.hits(query)
        found = [_found(workspace, journal, hit, text) for hit in hits]
        _add_checkpoints(journal, found)
    return Searched(workspace.hide(sound_text(text))[: search_terms.LONGEST], found, is_ranked)


def _kinds(word: str) -> tuple[str, ...]:
    if word not in SORTS:
        facts = [("known", ", ".join(SORTS))]
        raise WrongUsage(f'There is no kind of event "{one_line(word, 40)}"', facts, ["`holdfast search --help`"])
    return SORTS[word]


def _found(workspace: Workspace, journal: Journal, hit: Hit, text: str) -> Found:
    run: Run = journal.get_run(hit.run)
    event: Event = next(journal.events(hit.run, after=hit.seq - 1, until=hit.seq))
    # safeguard: hide-search
    words, title = workspace.hide(
        [passage(event), run.title]
    )  # before the excerpt is cut: half a secret is not recognised
    piece = search_terms.excerpt(words, text, WIDTH)
    kind = SORT_OF.get(event.kind, event.kind)
    return Found(run.id, event.seq, kind, event.time, title, run.status, event.session, piece.text, piece.marks)


def _add_checkpoints(journal: Journal, found: list[Found]) -> None:
    """Name the checkpoint to go to for each event."""
    made = {run: list(journal.list_checkpoints(run=run)) for run in {hit.run for hit in found}}
    for hit in found:
        after = find_after(made[hit.run], hit.run, hit.seq)
        hit.checkpoint = after.id if after else None
