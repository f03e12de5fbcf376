"""What people tell a run: neither empty nor endless, and otherwise untouched."""

from __future__ import annotations

import pytest
from hypothesis import given

from holdfast.core.errors import WrongUsage
from holdfast.core.text import LIMIT, checked, visible
from tests.strategies import WILD_TEXT, examples


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b", "\x1b", " \u2060 ", "\ud800", "\U000e0041"], ids=ascii)
def test_a_text_that_nobody_can_see_is_empty(text: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        checked(text, "note")
    assert refused.value.message == "The note is empty"
    assert refused.value.hints == ["write the note as one argument, in quotes"]


@pytest.mark.parametrize(("limit", "size"), [(LIMIT, LIMIT + 1), (5, 6), (200, 1_000_000)])
def test_a_text_that_is_too_long_is_refused_with_both_numbers(limit: int, size: int) -> None:
    with pytest.raises(WrongUsage) as refused:
        checked("x" * size, "name", limit)
    assert refused.value.message == "The name is too long"
    assert refused.value.facts == [("characters", str(size)), ("limit", str(limit))]


@pytest.mark.parametrize("size", [1, LIMIT])
def test_a_text_within_the_limit_is_given_back(size: int) -> None:
    assert checked("x" * size, "note") == "x" * size


@examples
@given(WILD_TEXT)
def test_a_text_is_given_back_untouched_or_refused(text: str) -> None:
    if visible(text).strip():
        assert checked(text, "note") is text
    else:
        with pytest.raises(WrongUsage):
            checked(text, "note")
