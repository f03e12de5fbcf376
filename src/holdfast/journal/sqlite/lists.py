"""Lists of runs and of events that a search finds. What fits is read only as far as a page needs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.core.search_terms import terms
from holdfast.journal.codec import expand
from holdfast.journal.sqlite.blobs import SqliteValues
from holdfast.journal.store import LEDGER, Hit, HitQuery, Page, RunQuery, RunRow

LABELS = "(SELECT json_group_array(label) FROM label WHERE label.run = run.key)"
RUN = (
    "run.id, run.status, run.layout, run.worktree, run.created, run.updated, run.seq, run.fold, run.state,"
    f" {LABELS}, run.key"
)
HITS = "search JOIN event ON event.position = search.rowid JOIN run ON run.key = event.run"
NONE = "[]"
AT_ONCE = 500  # runs that are asked for in one statement
ORDERED = 5_000  # hits that are put into an order of merit; of more, the newest come first
decode_labels = msgspec.json.Decoder(frozenset[str]).decode


class SqliteLists(SqliteValues):
    def list_runs(self, query: RunQuery) -> Page:
        return self._search_runs(query) if query.search is not None else self._newest_runs(query)

    def hits(self, query: HitQuery) -> tuple[list[Hit], bool]:
        """Events that a search finds, and whether the best come first; of a word that is everywhere, the newest do."""
        expression = match_expression(query.search)
        if not expression:
            return [], True
        asked = _of_events(query)
        where = " AND ".join(["search MATCH ?", *asked.conditions])
        is_ranked = query.merits is not None and self._has_few(expression)
        order = f"bm25(search) * {_merit(query.merits or {})}, search.rowid DESC" if is_ranked else "search.rowid DESC"
        select = f"SELECT run.id, event.seq FROM {HITS} WHERE {where} ORDER BY {order} LIMIT ?"
        found = self._connection.execute(select, [expression, *asked.values, query.limit])
        return [Hit(run, seq) for run, seq in found], is_ranked

    def _has_few(self, expression: str) -> bool:
        select = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
        return bool(self._value(select, expression, ORDERED + 1) <= ORDERED)

    def _newest_runs(self, query: RunQuery) -> Page:
        asked = _of_runs(query)
        if query.after:
            asked.add("(run.updated, run.key) < (?, ?)", *query.after)
        where = f" WHERE {' AND '.join(asked.conditions)}" if asked.conditions else ""
        select = f"SELECT {RUN} FROM run{where} ORDER BY run.updated DESC, run.key DESC LIMIT ?"
        rows = [run_row(row) for row in self._connection.execute(select, [*asked.values, query.limit + 1])]
        shown = rows[: query.limit]
        return Page(shown, (shown[-1].updated, shown[-1].key) if len(rows) > query.limit else None)

    def _search_runs(self, query: RunQuery) -> Page:
        """Runs by their newest event that fits. Rows are read until the page is full, not until the word runs out."""
        expression = match_expression(query.search or "")
        if not expression:
            return Page([], None)
        found: dict[int, int] = {}  # the key of a run -> the place of its newest event that fits
        for position, key in self._matches(expression, query):
            if key in found or self._seen_above(key, expression, query.after):
                continue
            if len(found) == query.limit:
                return Page(self._runs_of(found), (next(reversed(found.values())), 0))
            found[key] = position
        return Page(self._runs_of(found), None)

    def _matches(self, expression: str, query: RunQuery) -> Iterator[tuple[int, int]]:
        asked = _of_runs(query)
        before = query.after[0] if query.after else 2**62
        where = " AND ".join(["search MATCH ?", "search.rowid < ?", *asked.conditions])
        select = f"SELECT search.rowid, event.run FROM {HITS} WHERE {where} ORDER BY search.rowid DESC"
        rows: Iterator[tuple[int, int]] = self._connection.execute(select, [expression, before, *asked.values])
        return rows

    def _runs_of(self, keys: dict[int, int]) -> list[RunRow]:
        """The runs of these keys, in their order."""
        rows: dict[int, RunRow] = {}
        for some in (list(keys)[first : first + AT_ONCE] for first in range(0, len(keys), AT_ONCE)):
            select = f"SELECT {RUN} FROM run WHERE run.key IN ({', '.join('?' * len(some))})"
            rows |= {row.key: row for row in map(run_row, self._connection.execute(select, some))}
        return [rows[key] for key in keys]

    def _seen_above(self, key: int, expression: str, after: tuple[int, int] | None) -> bool:
        """Whether an earlier page listed this run, because a newer event of it fits too."""
        return after is not None and bool(
            self._value(
                "SELECT 1 FROM search JOIN event ON event.position = search.rowid"
                " WHERE search MATCH ? AND search.rowid >= ? AND event.run = ? LIMIT 1",
                expression,
                after[0],
                key,
            )
        )


def run_row(row: tuple[Any, ...]) -> RunRow:
    """What `RUN` selects."""
    labels = decode_labels(row[9]) if row[9] != NONE else frozenset[str]()
    return RunRow._make((*row[:8], expand(row[8]), labels, row[10]))


def _merit(merits: dict[str, float]) -> str:
    """How much more words of some kinds of event count than those of others, as SQL."""
    assert all(kind.replace(".", "").isalpha() for kind in merits)
    cases = "".join(f" WHEN '{kind}' THEN {float(merit)}" for kind, merit in merits.items())
    return f"CASE event.kind{cases} ELSE 1.0 END" if cases else "1.0"


class _Where:
    """Conditions of a statement, and the values for their places."""

    def __init__(self) -> None:
        self.conditions: list[str] = []
        self.values: list[object] = []

    def add(self, condition: str, *values: object) -> None:
        """A condition that holds where something was asked for; None: it was not."""
        if None not in values:
            self.conditions.append(condition)
            self.values += values

    def add_any(self, column: str, allowed: frozenset[str]) -> None:
        if allowed:
            self.add(f"{column} IN ({', '.join('?' * len(allowed))})", *sorted(allowed))


def _of_events(query: HitQuery) -> _Where:
    where = _of_runs(query.runs)
    where.add_any("event.kind", query.kinds)
    where.add("run.id = ?", query.run)
    where.add("event.time >= ?", query.since)
    where.add("event.time < ?", query.until)
    return where


def _of_runs(query: RunQuery) -> _Where:
    where = _Where()
    where.add_any("run.status", query.statuses)
    where.add_any("run.layout", query.layouts)
    if not query.layouts:
        where.add("run.layout != ?", LEDGER)
    for label in sorted(query.labels):
        where.add("run.key IN (SELECT run FROM label WHERE label = ?)", label)
    where.add("run.worktree = ?", query.worktree)
    where.add("run.updated >= ?", query.since)
    where.add("run.updated < ?", query.until)
    return where


def match_expression(text: str) -> str:
    """A full-text query: words must all be there, `"a phrase"` in that order, `begin*` as a beginning.

    Everything is quoted, so that no character of the text has a meaning of its own.
    """
    return " ".join(f'"{term.text}"' + "*" * term.is_beginning for term in terms(text))
