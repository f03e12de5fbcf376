"""Full-text search for runs and events. Matches are read only as far as a page needs them.

At most `RANKED` matches are ranked, and words are counted only so far, so that a search costs the same in a store of a
million events: the rank function of SQLite counts every event that has one of the words.
"""

from __future__ import annotations

import array
import heapq
from collections.abc import Collection, Sequence
from typing import NamedTuple
from weakref import WeakSet

import apsw

from holdfast.core.relevance import COVERAGE, ENOUGH, coverage, relevance, weigh
from holdfast.core.search_terms import Term, terms, variants
from holdfast.journal.store import Hit, HitQuery, Hits, RunQuery

HITS = "search JOIN event ON event.position = search.rowid JOIN run ON run.key = event.run"
RANKED = 5_000  # matches that are ranked; if there are more, the newest come first
NEWEST = 2**62  # above the position of any event
FEW = 20  # matches that are ranked without counting first
MOST_LOOSE = 16  # words of a search whose events need not have all
_prepared: WeakSet[apsw.Connection] = WeakSet()  # connections that have our function; SQLite never lets go of one


class Plan(NamedTuple):
    """A query of the full-text index."""

    expression: str
    weights: list[float]  # of the last phrases of the expression; those before them only choose
    is_partial: bool = False
    oldest: int = 0  # position


class Match(NamedTuple):
    score: float
    position: int  # between equals, the newest comes first
    key: int  # of the run
    run: str
    seq: int


class Scope(NamedTuple):
    """The conditions on events and runs, as SQL, and the newest event that counts."""

    where: str
    values: list[object]
    newest: int = NEWEST


def search_events(connection: apsw.Connection, query: HitQuery, where: str, values: list[object]) -> Hits:
    """Events that a search finds, the best or the newest first."""
    asked = _asked(query.search)
    if not asked:
        return Hits([], query.merits is not None)
    scope = Scope(where, values)
    matches, is_partial = _find(connection, asked, query, scope) if query.merits is not None else (None, False)
    if matches is None:
        select = f"SELECT run.id, event.seq FROM {HITS} WHERE search MATCH ? AND {where} ORDER BY search.rowid DESC"
        found = connection.execute(f"{select} LIMIT ?", [conjunction(asked), *values, query.limit])
        hits = [Hit(run, seq) for run, seq in found]
        if hits or not query.most:
            return Hits(hits, is_ranked=False)
        matches, is_partial = _find(connection, asked, query, scope)
    best = heapq.nlargest(query.limit, matches or [], key=None if query.merits is not None else _position)
    hits = [Hit(match.run, match.seq, match.score) for match in best]
    return Hits(hits, query.merits is not None, is_partial)


def search_runs(
    connection: apsw.Connection, query: RunQuery, where: str, values: list[object]
) -> tuple[dict[int, float], tuple[int, int] | None, bool]:
    """The keys of a page of runs with their scores, the key of the next page, and True if no event has all words.

    A ranked page's key is the place of its first run, and the position of the newest event when the first page was
    made: what is added later does not move the places. One by age is the position before it, and 0.
    """
    asked = _asked(query.search or "")
    if not asked:
        return {}, None, False
    place, newest = query.after or (0, 0)
    scope = Scope(where, values, newest or NEWEST)
    is_ranked = newest if query.after else query.merits is not None
    matches, is_partial = _find(connection, asked, query, scope) if is_ranked else (None, False)
    if matches is None:
        keys, following = _newest_runs(connection, query, conjunction(asked), where, values)
        if keys or query.after or not query.most:
            return dict.fromkeys(keys, 0.0), following, False
        matches, is_partial = _find(connection, asked, query, scope)
    best: dict[int, Match] = {}
    for match in matches or []:
        best[match.key] = max(match, best.get(match.key, match))
    ranked = sorted(best.values(), reverse=True)
    end = place + query.limit
    page = {match.key: match.score for match in ranked[place:end]}
    following = (end, newest or _last_position(connection)) if end < len(ranked) else None
    return page, following, is_partial


def conjunction(asked: Sequence[Term]) -> str:
    """A full-text query: all words must occur, `"a phrase"` in that order, `begin*` as a prefix.

    Everything is quoted, so that no character of the text is an operator.
    """
    return " ".join(map(_quoted, asked))


def count(connection: apsw.Connection, asked: Sequence[Term], most: int = RANKED + 1) -> int:
    select = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
    return int(connection.execute(select, (conjunction(asked), most)).get)


def _asked(text: str) -> list[Term]:
    return list(dict.fromkeys(terms(text)))


def _quoted(term: Term) -> str:
    return f'"{term.text}"' + "*" * term.is_beginning


def _last_position(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(position), 1) FROM event").get)


def _newest_runs(
    connection: apsw.Connection, query: RunQuery, expression: str, where: str, values: list[object]
) -> tuple[list[int], tuple[int, int] | None]:
    """Runs by their newest matching event. Matches are read until the page is full, not all of them."""
    found: dict[int, int] = {}  # the key of a run -> the position of its newest matching event
    before = query.after[0] if query.after else NEWEST
    select = f"SELECT search.rowid, event.run FROM {HITS} WHERE search MATCH ? AND search.rowid < ? AND {where}"
    matches = connection.execute(f"{select} ORDER BY search.rowid DESC", [expression, before, *values])
    for position, key in matches:
        if key in found or _is_on_earlier_page(connection, key, expression, query.after):
            continue
        if len(found) == query.limit:
            return list(found), (next(reversed(found.values())), 0)
        found[key] = position
    return list(found), None


def _is_on_earlier_page(connection: apsw.Connection, key: int, expression: str, after: tuple[int, int] | None) -> bool:
    """True if an earlier page listed this run, because a newer event of it matches too."""
    select = (
        "SELECT 1 FROM search JOIN event ON event.position = search.rowid"
        " WHERE search MATCH ? AND search.rowid >= ? AND event.run = ? LIMIT 1"
    )
    return after is not None and connection.execute(select, (expression, after[0], key)).fetchone() is not None


# Ranking


def _position(match: Match) -> int:
    return match.position


def _find(
    connection: apsw.Connection, asked: list[Term], query: HitQuery | RunQuery, scope: Scope
) -> tuple[list[Match] | None, bool]:
    """Events with all words, None if too many match; if there are none, those with most of the words, and True."""
    known = {asked[0]: 1} if len(asked) == 1 else {term: count(connection, [term]) for term in asked}
    if all(known.values()):
        plan = Plan(conjunction(asked), _weights(connection, known.values()))
        matches = _scored(connection, plan, query, scope, FEW + 1)
        if len(matches) > FEW:
            if scope.newest == NEWEST and count(connection, asked) > RANKED:
                return None, False
            matches = _scored(connection, plan, query, scope)
        if matches:
            return matches, False
        if len(asked) == 1:
            known = {asked[0]: count(connection, asked, 1)}
            if known[asked[0]]:  # other events have it than those that were asked about
                return [], False
    loose = _loosened(connection, known) if query.most else None
    matches = _scored(connection, loose, query, scope) if loose else []
    return matches, bool(matches)


def _weights(connection: apsw.Connection, frequencies: Collection[int]) -> list[float]:
    return weigh(frequencies, _last_position(connection)) if len(frequencies) > 1 else [1.0]


def _loosened(connection: apsw.Connection, asked: dict[Term, int]) -> Plan | None:
    """A plan for events that have a rare one of the words; None if no event has any.

    Only the rare words choose, as many as are in few enough events together; all of them count.
    """
    known: dict[Term, int] = {}
    for term, frequency in asked.items():
        for each in [term] if frequency else variants(term):
            known[each] = frequency or count(connection, [each])
    ordered = sorted(known, key=lambda term: (not known[term], known[term]))[:MOST_LOOSE]
    rare: list[Term] = []
    for term in ordered:
        if not known[term] or (rare and sum(known[each] for each in rare) + known[term] > RANKED):
            break
        rare.append(term)
    if not rare:
        return None
    some, all_of_them = (" OR ".join(map(_quoted, words)) for words in (rare, ordered))
    oldest = 0
    if known[rare[0]] > RANKED:
        select = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        oldest = connection.execute(select, (some, RANKED)).get
    weights = _weights(connection, [known[term] for term in ordered])
    return Plan(f"({some}) AND ({all_of_them})", weights, True, oldest)


def _scored(
    connection: apsw.Connection, plan: Plan, query: HitQuery | RunQuery, scope: Scope, limit: int = -1
) -> list[Match]:
    if connection not in _prepared:
        connection.register_fts5_function("word_counts", _word_counts)
        _prepared.add(connection)
    select = (
        f"SELECT search.rowid, run.key, run.id, event.seq, event.kind, event.time, word_counts(search) FROM {HITS}"
        f" WHERE search MATCH ? AND search.rowid BETWEEN ? AND ? AND {scope.where}"
        f" LIMIT {limit}"  # a bound one takes a third longer
    )
    rows = connection.execute(select, [plan.expression, plan.oldest, scope.newest, *scope.values])
    merits = query.merits or {}
    found: list[tuple[float, Match]] = []
    for position, key, run, seq, kind, time, packed in rows:
        size, *counts = array.array("Q", packed)
        counts = counts[-len(plan.weights) :]
        share = coverage(counts, plan.weights) if plan.is_partial else 1.0
        score = relevance(counts, plan.weights, size, merits.get(kind, 1.0), query.now - time) * share**COVERAGE
        found.append((share, Match(score, position, key, run, seq)))
    least = ENOUGH * max((share for share, _ in found), default=0.0) if plan.is_partial else 0.0
    return [match for share, match in found if share >= least]


def _word_counts(api: apsw.FTS5ExtensionApi, *_: object) -> bytes:
    """The number of words of an event, and how often it has each phrase of the query."""
    counts = (len(api.phrase_column_offsets(phrase, 0)) for phrase in range(api.phrase_count))
    return array.array("Q", [api.column_size(0), *counts]).tobytes()
