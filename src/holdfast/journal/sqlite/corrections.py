"""Corrections of misspelt words of a search, by words of the index.

Words at a distance of one change are asked for one by one; others are found among those that begin alike. Both cost the
same in an index of a million words, and need no vocabulary of their own beside the index, as SQLite's spellfix1 does.
"""

from __future__ import annotations

import difflib
import string
from collections.abc import Callable, Iterator

import apsw

from holdfast.core.search_terms import Term, terms, words_of
from holdfast.journal.sqlite.search import HITS, count

SHORTEST, LONGEST = 4, 32  # characters of a word that is compared
MOST = 4  # words of a search
ALIKE, SIMILARITY = 3, 0.7  # characters at the beginning, and the least ratio of `difflib`
READ = 500  # words of the index that begin alike
COUNTED = 100  # events that make one correction better than another


def spellings(connection: apsw.Connection, search: str, where: str, values: list[object]) -> dict[str, str]:
    """Words of a search that occur nowhere, and the most similar one that does."""

    def is_known(word: str) -> bool:
        """True if an event that can be listed has the word; of what was forgotten, words may linger in the index."""
        select = f"SELECT 1 FROM {HITS} WHERE search MATCH ? AND {where} LIMIT 1"
        return connection.execute(select, [f'"{word}"', *values]).fetchone() is not None

    asked = [word for term in terms(search) if not term.is_beginning for word in words_of(term.text)]
    long = [word for word in dict.fromkeys(asked) if SHORTEST <= len(word) <= LONGEST]
    unknown = [word for word in long if not is_known(word)]
    found = ((word, _nearest(connection, word, is_known)) for word in unknown[:MOST])
    return {word: nearest for word, nearest in found if nearest}


def _nearest(connection: apsw.Connection, word: str, is_known: Callable[[str], bool]) -> str | None:
    near = [other for other in _one_change(word) if is_known(other)]
    if near:
        return max(near, key=lambda other: (other[0] == word[0], count(connection, [Term(other)], COUNTED)))
    alike = difflib.get_close_matches(word, _beginning_with(connection, word[:ALIKE]), n=READ, cutoff=SIMILARITY)
    return next(filter(is_known, alike), None)


def _one_change(word: str) -> Iterator[str]:
    """Words with one letter more, less or another, or with two swapped."""
    letters = sorted({*string.ascii_lowercase, *string.digits, *word})
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = [before + after[1] + after[0] + after[2:] for before, after in halves if len(after) > 1]
    found += [before + after[1:] for before, after in halves if after]
    found += [before + letter + after[skipped:] for skipped in (0, 1) for before, after in halves for letter in letters]
    return (other for other in dict.fromkeys(found) if other != word and len(other) >= ALIKE)


def _beginning_with(connection: apsw.Connection, beginning: str) -> list[str]:
    """Indexed words. From one to the next without reading its events, of which a word may have a million."""
    connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'search', 'instance')")
    try:
        found: list[str] = []
        at, end = beginning, beginning + "\U0010ffff"
        while len(found) < READ:
            select = "SELECT term FROM temp.vocabulary WHERE term >= ? AND term <= ? LIMIT 1"
            row = connection.execute(select, (at, end)).fetchone()
            if row is None:
                break
            found.append(row[0])
            at = row[0] + "\x01"
        return found
    finally:
        connection.execute("DROP TABLE temp.vocabulary")
