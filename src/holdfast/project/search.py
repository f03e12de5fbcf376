"""Ranking of searches in a project, and corrections of misspelt words."""

from __future__ import annotations

from typing import TypedDict

from holdfast.core import search_terms
from holdfast.core.event_text import BY_MERIT, passage
from holdfast.core.text import one_line
from holdfast.journal.journal import Journal
from holdfast.journal.store import HitQuery
from holdfast.project.workspace import Workspace
from holdfast.system.clock import micros

DAY = 86_400_000_000  # microseconds
LOOKED = 5  # events with a word


class Ranking(TypedDict):
    """The ranking members of a query."""

    merits: dict[str, float]
    now: int
    most: bool


def ranking(workspace: Workspace) -> Ranking:
    """Return the ranking of a search. The time is rounded to the day, so that the pages of a list fit together."""
    return Ranking(merits=BY_MERIT, now=micros(workspace.clock.now()) // DAY * DAY, most=True)


def suggestion(workspace: Workspace, journal: Journal, search: str) -> str | None:
    """Return a search with its misspelt words corrected; None if there are none, or nothing is similar."""
    search = search[: search_terms.LONGEST]
    spelt = journal.view.spellings(search)
    shown = {word: other for word, other in spelt.items() if _is_shown(workspace, journal, other)}
    return one_line(workspace.hide(search_terms.replaced(search, shown))) if shown else None


def _is_shown(workspace: Workspace, journal: Journal, word: str) -> bool:
    """True if an event still has the word once secrets are hidden: alone, a piece of one is not recognised."""
    hits = journal.view.hits(HitQuery(word, limit=LOOKED)).found
    events = (next(journal.events(hit.run, after=hit.seq - 1, until=hit.seq)) for hit in hits)
    # safeguard: hide-suggestion
    return any(word in search_terms.words_of(workspace.hide(passage(event))) for event in events)
