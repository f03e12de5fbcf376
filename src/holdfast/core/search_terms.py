"""Search terms: parsing a query, and cutting the excerpt of a text that matches it.

A query has words, `"a phrase"` and `prefix*`. The full-text index stores no texts, so excerpts are made here, with the
tokenizer's rules: letters and digits, case and accents ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.text import one_line, sound_text

ASKED = re.compile(r'"([^"]*)"?|(\S+)')
WORD = re.compile(r"[^\W_][^\W_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W_]*)*")
LONGEST = 4_096  # characters of a query that are read
MOST_TERMS = 64
SHORTEST = 4  # characters of a word that is taken for the beginning of others
READ = 200_000  # characters of a text that are searched
MOST_MARKS = 500  # in one text; a query of one letter matches hundreds of thousands
LEAD = 30  # characters before the first match


class Term(NamedTuple):
    text: str
    is_beginning: bool = False


class Excerpt(Struct):
    """A piece of a text, and the spans in it that match."""

    text: str
    marks: list[tuple[int, int]] = []  # start and end, in characters


def terms(search: str) -> list[Term]:
    """Parse a query. Only quotes, and a star at the end of a word, have a meaning."""
    found = []
    for phrase, word in ASKED.findall(sound_text(search[:LONGEST]).replace("\0", " ")):
        plain = phrase or word.rstrip("*")
        if any(letter.isalnum() for letter in plain):
            found.append(Term(plain.replace('"', ""), word.endswith("*")))
    return found[:MOST_TERMS]


def excerpt(text: str, search: str, width: int, *, is_partial: bool = False) -> Excerpt:
    """Return the piece of a text, as one line, with the most matches. Those of a partial hit are less exact."""
    line = one_line(text[:READ])
    asked = terms(search)
    if is_partial:
        asked += [variant for term in asked for variant in variants(term)]
    marks = _marks(line, asked)
    if len(line) <= width:
        return Excerpt(line, marks)
    begin = _best(marks, width, len(line))
    end = begin + width
    cut = ("…" if begin else "") + line[begin:end] + ("…" if end < len(line) else "")
    moved = bool(begin) - begin
    return Excerpt(cut, [(first + moved, last + moved) for first, last in marks if first >= begin and last <= end])


def _best(marks: list[tuple[int, int]], width: int, size: int) -> int:
    """Return the start of the first window with the most marks."""
    best, most = 0, -1
    for at, (first, _) in enumerate(marks):
        begin = max(0, min(first - min(LEAD, width // 4), size - width))
        inside = sum(last <= begin + width for _, last in marks[at : at + width])
        if inside > most:
            best, most = begin, inside
    return best


def _marks(line: str, asked: list[Term]) -> list[tuple[int, int]]:
    """Return the spans of all terms in order, overlapping ones merged."""
    words = [(found.start(), found.end(), fold(found.group())) for found in WORD.finditer(line)]
    spans = sorted(span for term in dict.fromkeys(asked) for span in _spans(words, term))
    marks: list[tuple[int, int]] = []
    for first, last in spans:
        if marks and first <= marks[-1][1]:
            marks[-1] = (marks[-1][0], max(last, marks[-1][1]))
        else:
            marks.append((first, last))
    return marks[:MOST_MARKS]


def _spans(words: list[tuple[int, int, str]], term: Term) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    wanted = words_of(term.text)
    first, size = wanted[0] if wanted else "", len(wanted)
    for at, (begin, _, word) in enumerate(words):
        if (word != first and not (size == 1 and term.is_beginning)) or not size or at + size > len(words):
            continue
        *before, last = [other for _, _, other in words[at : at + size]]
        is_last = last == wanted[-1] or (term.is_beginning and last.startswith(wanted[-1]))
        if is_last and before == wanted[:-1]:
            found.append((begin, words[at + size - 1][1]))
            if len(found) == MOST_MARKS:
                break
    return found


def words_of(text: str) -> list[str]:
    """Return the words of a text as the index has them."""
    return [fold(found.group()) for found in WORD.finditer(text)]


def variants(term: Term) -> list[Term]:
    """Return what to look for where a term is nowhere: the words of a phrase, or words that begin so."""
    words = words_of(term.text)
    return [Term(word) for word in words] if len(words) > 1 else [Term(term.text, len(term.text) >= SHORTEST)]


def replaced(text: str, others: Mapping[str, str]) -> str:
    """Return a text with other words in place of some."""
    return WORD.sub(lambda found: others.get(fold(found.group()), found.group()), text)


def fold(word: str) -> str:
    """Normalize a word for comparison: no case, no accents."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
