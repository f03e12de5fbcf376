"""Suggestions for mistyped words."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from holdfast.core.text import edits, nearest

WORDS = st.text("abc", max_size=6)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [("", "", 0), ("log", "logs", 1), ("strat", "start", 1), ("list", "bisect", 3), ("ab", "", 2)],
)
def test_swapped_neighbours_are_one_edit(a: str, b: str, distance: int) -> None:
    assert edits(a, b) == edits(b, a) == distance


@given(WORDS, WORDS)
def test_only_equal_words_are_no_edit_apart_and_all_are_within_the_longer_one(a: str, b: str) -> None:
    assert (edits(a, b) == 0) is (a == b)
    assert abs(len(a) - len(b)) <= edits(a, b) == edits(b, a) <= max(len(a), len(b))


@given(WORDS, st.lists(WORDS, unique=True))
def test_a_word_that_is_known_is_found_and_what_is_far_is_not(word: str, known: list[str]) -> None:
    found = nearest(word, known)
    assert len(found) <= 3
    assert all(name.startswith(word) or edits(word, name) <= 2 for name in found)


@pytest.mark.parametrize("word", ["", "x", "x" * 100_000])
def test_nothing_is_suggested_for_what_could_be_anything(word: str) -> None:
    assert nearest(word, ["on", "off"]) == []
