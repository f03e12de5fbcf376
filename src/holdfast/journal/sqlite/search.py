"""Full-text search for runs and events. Matches are read only as far as a page needs them."""

from __future__ import annotations

import apsw

from holdfast.core.search_terms import terms
from holdfast.journal.store import Hit, HitQuery, RunQuery

HITS = "search JOIN event ON event.position = search.rowid JOIN run ON run.key = event.run"
RANKED = 5_000  # hits that are ranked; if there are more, the newest come first


def search_events(
    connection: apsw.Connection, query: HitQuery, where: str, values: list[object]
) -> tuple[list[Hit], bool]:
    """Events that a search finds; True if ranked, False if a word is so frequent that the newest come first."""
    expression = match_expression(query.search)
    if not expression:
        return [], True
    select = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
    is_ranked = query.merits is not None and connection.execute(select, (expression, RANKED + 1)).get <= RANKED
    order = f"bm25(search) * {_weight(query.merits or {})}, search.rowid DESC" if is_ranked else "search.rowid DESC"
    select = f"SELECT run.id, event.seq FROM {HITS} WHERE search MATCH ? AND {where} ORDER BY {order} LIMIT ?"
    found = connection.execute(select, [expression, *values, query.limit])
    return [Hit(run, seq) for run, seq in found], is_ranked


def search_runs(
    connection: apsw.Connection, query: RunQuery, where: str, values: list[object]
) -> tuple[list[int], tuple[int, int] | None]:
    """The keys of a page of runs, by their newest matching event, and the key of the next page.

    Matches are read until the page is full, not all of them.
    """
    expression = match_expression(query.search or "")
    if not expression:
        return [], None
    found: dict[int, int] = {}  # the key of a run -> the position of its newest matching event
    before = query.after[0] if query.after else 2**62
    select = f"SELECT search.rowid, event.run FROM {HITS} WHERE search MATCH ? AND search.rowid < ? AND {where}"
    matches = connection.execute(f"{select} ORDER BY search.rowid DESC", [expression, before, *values])
    for position, key in matches:
        if key in found or _is_on_earlier_page(connection, key, expression, query.after):
            continue
        if len(found) == query.limit:
            return list(found), (next(reversed(found.values())), 0)
        found[key] = position
    return list(found), None


def match_expression(text: str) -> str:
    """A full-text query: all words must occur, `"a phrase"` in that order, `begin*` as a prefix.

    Everything is quoted, so that no character of the text is an operator.
    """
    return " ".join(f'"{term.text}"' + "*" * term.is_beginning for term in terms(text))


def _weight(merits: dict[str, float]) -> str:
    """The weight of a word by the kind of its event, as SQL."""
    assert all(kind.replace(".", "").isalpha() for kind in merits)
    cases = "".join(f" WHEN '{kind}' THEN {float(merit)}" for kind, merit in merits.items())
    return f"CASE event.kind{cases} ELSE 1.0 END" if cases else "1.0"


def _is_on_earlier_page(connection: apsw.Connection, key: int, expression: str, after: tuple[int, int] | None) -> bool:
    """True if an earlier page listed this run, because a newer event of it matches too."""
    select = (
        "SELECT 1 FROM search JOIN event ON event.position = search.rowid"
        " WHERE search MATCH ? AND search.rowid >= ? AND event.run = ? LIMIT 1"
    )
    return after is not None and connection.execute(select, (expression, after[0], key)).fetchone() is not None
