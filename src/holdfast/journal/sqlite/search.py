"""Full-text search for runs and events. Matches are read only as far as a page needs them."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from holdfast.core.search_terms import terms
from holdfast.journal.sqlite.transaction import MAX, RUN, Where, run_row
from holdfast.journal.store import Hit, HitQuery, Page, RunQuery, RunRow

HITS = "search JOIN event ON event.position = search.rowid JOIN run ON run.key = event.run"
RUNS_AT_ONCE = 500  # that are read in one statement
RANKED = 5_000  # hits that are ranked; if there are more, the newest come first


def search_events(connection: apsw.Connection, query: HitQuery) -> tuple[list[Hit], bool]:
    """Events that a search finds; True if ranked, False if a word is so frequent that the newest come first."""
    expression = match_expression(query.search)
    if not expression:
        return [], True
    where = Where.of_runs(query.runs)
    where.add_any("event.kind", query.kinds)
    where.add("run.id = ?", query.run)
    where.add("event.time >= ?", query.since)
    where.add("event.time < ?", query.until)
    is_ranked = query.merits is not None and _has_few(connection, expression)
    order = f"bm25(search) * {_weight(query.merits or {})}, search.rowid DESC" if is_ranked else "search.rowid DESC"
    select = f"SELECT run.id, event.seq FROM {HITS} WHERE search MATCH ? AND {where} ORDER BY {order} LIMIT ?"
    found = connection.execute(select, [expression, *where.values, query.limit])
    return [Hit(run, seq) for run, seq in found], is_ranked


def search_runs(connection: apsw.Connection, query: RunQuery) -> Page:
    """Runs by their newest matching event. Rows are read until the page is full, not until the matches are used up."""
    expression = match_expression(query.search or "")
    if not expression:
        return Page([], None)
    found: dict[int, int] = {}  # the key of a run -> the position of its newest matching event
    for position, key in _matches(connection, expression, query):
        if key in found or _is_on_earlier_page(connection, key, expression, query.after):
            continue
        if len(found) == query.limit:
            return Page(_runs(connection, list(found)), (next(reversed(found.values())), 0))
        found[key] = position
    return Page(_runs(connection, list(found)), None)


def match_expression(text: str) -> str:
    """A full-text query: all words must occur, `"a phrase"` in that order, `begin*` as a prefix.

    Everything is quoted, so that no character of the text is an operator.
    """
    return " ".join(f'"{term.text}"' + "*" * term.is_beginning for term in terms(text))


def _has_few(connection: apsw.Connection, expression: str) -> bool:
    select = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
    return bool(connection.execute(select, (expression, RANKED + 1)).get <= RANKED)


def _weight(merits: dict[str, float]) -> str:
    """The weight of a word by the kind of its event, as SQL."""
    assert all(kind.replace(".", "").isalpha() for kind in merits)
    cases = "".join(f" WHEN '{kind}' THEN {float(merit)}" for kind, merit in merits.items())
    return f"CASE event.kind{cases} ELSE 1.0 END" if cases else "1.0"


def _matches(connection: apsw.Connection, expression: str, query: RunQuery) -> Iterator[tuple[int, int]]:
    where = Where.of_runs(query)
    before = query.after[0] if query.after else MAX
    select = f"SELECT search.rowid, event.run FROM {HITS} WHERE search MATCH ? AND search.rowid < ? AND {where}"
    rows: Iterator[tuple[int, int]] = connection.execute(
        f"{select} ORDER BY search.rowid DESC", [expression, before, *where.values]
    )
    return rows


def _is_on_earlier_page(connection: apsw.Connection, key: int, expression: str, after: tuple[int, int] | None) -> bool:
    """True if an earlier page listed this run, because a newer event of it matches too."""
    select = (
        "SELECT 1 FROM search JOIN event ON event.position = search.rowid"
        " WHERE search MATCH ? AND search.rowid >= ? AND event.run = ? LIMIT 1"
    )
    return after is not None and connection.execute(select, (expression, after[0], key)).fetchone() is not None


def _runs(connection: apsw.Connection, keys: list[int]) -> list[RunRow]:
    """The runs of these keys, in their order."""
    rows: dict[int, RunRow] = {}
    for some in (keys[first : first + RUNS_AT_ONCE] for first in range(0, len(keys), RUNS_AT_ONCE)):
        select = f"SELECT {RUN} FROM run WHERE run.key IN ({', '.join('?' * len(some))})"
        rows |= {row.key: row for row in map(run_row, connection.execute(select, some))}
    return [rows[key] for key in keys]
