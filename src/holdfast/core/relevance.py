"""Relevance of an event to a search: how well its words fit, how much its kind matters, and how old it is.

The fit is BM25 with weights of words that add up to 1, so that events of several stores can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

SATURATION, LENGTH = 1.2, 0.75  # k1 and b of BM25
USUAL = 30  # words of an event: the same for all stores, or an event would be worth more among long ones
FADING = 30 * 86_400 * 1_000_000  # microseconds in which half of the bonus for what is new is gone
COVERAGE = 3  # the power of the share of the words that an event has, where none has all
ENOUGH = 0.5  # of the best one's share of the words: below it, an event is not shown


def weigh(frequencies: Collection[int], events: int) -> list[float]:
    """Return the weight of each word: the fewer events have it, the more; together they are 1."""
    weights = [math.log(1 + max(events, frequency, 1) / max(frequency, 1)) for frequency in frequencies]
    return [weight / sum(weights) for weight in weights]


def coverage(counts: Sequence[int], weights: Sequence[float]) -> float:
    """Return the share of the words that an event has, by their weights."""
    return sum(weight for count, weight in zip(counts, weights, strict=True) if count)


def relevance(counts: Sequence[int], weights: Sequence[float], size: int, merit: float, age: int) -> float:
    """Return the relevance of an event with `counts` of each word among its `size` words."""
    damping = SATURATION * (1 - LENGTH + LENGTH * size / USUAL)
    fit = 0.0
    for count, weight in zip(counts, weights, strict=True):
        fit += weight * count * (SATURATION + 1) / (count + damping)
    return fit * merit * (1 + FADING / (FADING + max(age, 0)))
