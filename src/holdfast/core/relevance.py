"""Relevance of an event to a search: how well its words fit, how much its kind matters, and how old it is.

The fit is BM25 with weights of words that add up to 1, so that events of several stores can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SATURATION, LENGTH = 1.2, 0.75  # k1 and b of BM25
FADING = 30 * 86_400 * 1_000_000  # microseconds in which half of the bonus for what is new is gone
COVERAGE = 3.0  # how much an event with most of the words is above one with some
ENOUGH = 0.5  # of the best one's share of the words: below it, an event is not shown


def weigh(frequencies: Sequence[int], events: int) -> list[float]:
    """Return the weight of each word: the fewer events have it, the more; together they are 1."""
    weights = [math.log(1 + max(events, frequency, 1) / max(frequency, 1)) for frequency in frequencies]
    return [weight / sum(weights) for weight in weights]


def coverage(counts: Sequence[float], weights: Sequence[float]) -> float:
    """Return the share of the words that an event has, by their weights."""
    return sum(weight for count, weight in zip(counts, weights, strict=True) if count)


def relevance(
    counts: Sequence[float], weights: Sequence[float], size: float, usual: float, merit: float, age: int
) -> float:
    """Return the relevance of an event with `counts` of each word among its `size` words."""
    damping = SATURATION * (1 - LENGTH + LENGTH * size / max(usual, 1.0))
    pairs = zip(counts, weights, strict=True)
    fit = sum(weight * count * (SATURATION + 1) / (count + damping) for count, weight in pairs)
    recency = 1 + FADING / (FADING + max(age, 0))
    return float(fit * coverage(counts, weights) ** COVERAGE * merit * recency)
