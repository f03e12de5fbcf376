"""What somebody searches for, and the piece of a text that shows it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from holdfast.core.search_terms import LONGEST, MOST_TERMS, Term, excerpt, terms
from tests.strategies import TEXT, WILD_TEXT, many_examples


def marked(text: str, search: str, width: int = 60) -> str:
    """The piece, with what is marked in brackets."""
    piece = excerpt(text, search, width)
    shown, at = "", 0
    for first, last in piece.marks:
        shown += piece.text[at:first] + "[" + piece.text[first:last] + "]"
        at = last
    return shown + piece.text[at:]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("retry", [Term("retry")]),
        ("retr*", [Term("retr", is_beginning=True)]),
        ('"a phrase" word', [Term("a phrase"), Term("word")]),
        ('"never closed', [Term("never closed")]),
        ("a\0b", [Term("a"), Term("b")]),
        ("* - ( ) : ^", []),
    ],
)
def test_a_search_asks_for_these(search: str, expected: list[Term]) -> None:
    assert terms(search) == expected


def test_of_a_search_that_nobody_types_only_the_beginning_counts() -> None:
    assert len(terms("word " * 300_000)) == MOST_TERMS
    assert terms("x" * 2_000_000) == [Term("x" * LONGEST)]


@pytest.mark.parametrize(
    ("text", "search", "expected"),
    [
        ("Retry the client", "retry", "[Retry] the client"),
        ("Retry the client", "CLIENT retry", "[Retry] the [client]"),
        ("Retry the client", "retr*", "[Retry] the client"),
        ("Retry the client", "retr", "Retry the client"),
        ("the client and the client", '"the client"', "[the client] and [the client]"),
        ("the old client", '"the client"', "the old client"),
        ("changed src/main.py today", "main.py", "changed src/[main.py] today"),
        ("the café is open", "cafe", "the [café] is open"),
        ("the cafe\u0301 is open", "café", "the [cafe\u0301] is open"),
        ("a b\nc\td", "c", "a b [c] d"),
        ("so\x1b[31m red\u202e", "red", "so[31m [red]"),
        ("日本語 の テスト", "テスト", "日本語 の [テスト]"),
        ("one two three", '"one two" two', "[one two] three"),
    ],
)
def test_the_words_are_marked_where_they_stand(text: str, search: str, expected: str) -> None:
    assert marked(text, search) == expected


def test_of_a_long_text_the_piece_with_most_of_the_words_is_shown() -> None:
    text = "retry " + "x " * 200 + "then retry with backoff " + "y " * 200
    shown = marked(text, "retry backoff")
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "then [retry] with [backoff]" in shown


def test_a_word_near_the_end_is_shown_with_what_stands_before_it() -> None:
    assert marked("x " * 500 + "needle", "needle", 20) == "…x x x x x x x [needle]"


@many_examples
@given(text=WILD_TEXT | TEXT, search=WILD_TEXT | TEXT, width=st.integers(10, 80))
def test_any_text_gives_a_piece_of_the_width_with_marks_inside(text: str, search: str, width: int) -> None:
    piece = excerpt(text, search, width)
    assert len(piece.text) <= width + 2
    ends = [place for mark in piece.marks for place in mark]
    assert ends == sorted(ends)
    assert all(0 <= place <= len(piece.text) for place in ends)


def test_a_text_without_an_end_is_read_as_far_as_it_pays() -> None:
    assert marked("a" * 5_000_000, "nothing", 10) == "a" * 10 + "…"
