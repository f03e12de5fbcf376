"""Search: single events by the words in them, the best first."""

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
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

WIDTH = 160  # characters of the piece that is shown
BY_MERIT = {kind: MERITS[sort] for kind, sort in SORT_OF.items()}


class Found(Struct):
    """One event that a search finds."""

    run: str
    seq: int
    kind: str  # `goal`, `decision`, `note`, `task`, `prompt`, `action` or `error`
    time: datetime
    title: str  # of the run
    status: Status  # of the run
    session: str | None
    text: str  # the piece of it in which the words stand
    marks: list[tuple[int, int]]  # where in the piece they stand: begin and end, in characters


class Searched(Struct):
    search: str
    found: list[Found]
    ranked: bool  # the best come first; else the newest, because they were asked for or the words are everywhere


@verb(
    group=Group.SEE,
    example="holdfast search '\"exponential backoff\" retr*' --kind decision",
    about="events by the words in them, the best first",
    common=True,
    changes=False,
    previews=True,
)
def search(
    workspace: Workspace,
    text: Annotated[str, argument(metavar="TEXT...", kind=Kind.WORDS)],
    *,
    status: Annotated[tuple[str, ...], option(metavar="STATUS", help="Only in runs of this status, or `open`.")] = (),
    layout: Annotated[tuple[str, ...], option(metavar="LAYOUT", help="Only in runs of this layout.")] = (),
    agent: Annotated[str | None, option(metavar="NAME", help="Only in runs that this agent worked on.")] = None,
    tag: Annotated[str | None, option(metavar="TAG", help="Only in runs with this tag.")] = None,
    run: Annotated[str | None, option(metavar="RUN", kind=Kind.RUN, help="Only in this run; else in all runs.")] = None,
    kind: Annotated[
        tuple[str, ...], option(choices=tuple(SORTS), help="Only events of this kind. Can be repeated.")
    ] = (),
    since: Annotated[
        datetime | None, option(metavar="WHEN", help="Happened since: 2026-11-01, or 3d, 12h, 30m.")
    ] = None,
    until: Annotated[datetime | None, option(metavar="WHEN", help="Happened before.")] = None,
    newest: Annotated[bool, option(help="The newest first, not the best.")] = False,
    limit: Annotated[int | None, option(least=1, most=10_000, metavar="N", help="At most N events.")] = None,
) -> Searched:
    """Events that hold all these words, the best first: goals, prompts, decisions, notes, tasks, files, errors."""
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
        found = [_told(workspace, journal, hit, text) for hit in hits]
    return Searched(workspace.hide(sound_text(text))[: search_terms.LONGEST], found, is_ranked)


def _kinds(word: str) -> tuple[str, ...]:
    if word not in SORTS:
        facts = [("known", ", ".join(SORTS))]
        raise WrongUsage(f'There is no kind of event "{one_line(word, 40)}"', facts, ["`holdfast search --help`"])
    return SORTS[word]


def _told(workspace: Workspace, journal: Journal, hit: Hit, text: str) -> Found:
    run: Run = journal.get_run(hit.run)
    event: Event = next(journal.events(hit.run, after=hit.seq - 1, until=hit.seq))
    # safeguard: hide-search
    words, title = workspace.hide([passage(event), run.title])  # before they are cut: half of a secret is not known
    piece = search_terms.excerpt(words, text, WIDTH)
    kind = SORT_OF.get(event.kind, event.kind)
    return Found(run.id, event.seq, kind, event.time, title, run.status, event.session, piece.text, piece.marks)
