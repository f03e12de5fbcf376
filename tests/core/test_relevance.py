"""Relevance: what makes one event come before another, one thing changed at a time."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from holdfast.core.relevance import FADING, coverage, relevance, weigh
from tests.strategies import examples

DAY = 86_400_000_000


def score(
    counts: list[int] | None = None,
    weights: list[float] | None = None,
    size: int = 30,
    merit: float = 1.0,
    age: int = 0,
) -> float:
    return relevance(counts or [1, 1], weights or [0.5, 0.5], size, merit, age)


def test_each_thing_counts_for_itself() -> None:
    assert score(counts=[2, 1]) > score()
    assert score(counts=[1, 0]) < score()
    assert score(size=300) < score()
    assert score(merit=3.0) == pytest.approx(3 * score())
    assert score(counts=[1, 0], weights=[0.9, 0.1]) > score(counts=[0, 1], weights=[0.9, 0.1])


def test_what_is_old_loses_at_most_half() -> None:
    ages = [0, DAY, 30 * DAY, 365 * DAY, 10_000 * DAY]
    found = [score(age=age) for age in ages]
    assert found == sorted(found, reverse=True)
    assert found[-1] > found[0] / 2
    assert score(age=FADING) == pytest.approx(score() * 0.75)
    assert score(age=-DAY) == score()


def test_a_word_that_is_repeated_very_often_does_not_outweigh_one_that_is_missing() -> None:
    assert score(counts=[1_000, 0]) < 1.2 * score(counts=[1, 1])


@examples
@given(frequencies=st.lists(st.integers(0, 10**7), min_size=1, max_size=20), events=st.integers(0, 10**7))
def test_weights_are_shares_and_rare_words_have_more(frequencies: list[int], events: int) -> None:
    weights = weigh(frequencies, events)
    assert sum(weights) == pytest.approx(1)
    assert all(weight > 0 for weight in weights)
    ordered = [weight for _, weight in sorted(zip(frequencies, weights, strict=True))]
    assert all(first >= second - 1e-12 for first, second in itertools.pairwise(ordered))
    assert coverage([1] * len(weights), weights) == pytest.approx(1)
