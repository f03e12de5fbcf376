"""What sessions have used together, and what is left for one of several that share a conversation."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.core.fold.activity import Spent, format_usage, remaining_usage, total_usage
from holdfast.core.model import Session


def a_session(read: int = 0, written: int = 0, cost: float | None = None) -> Session:
    opened = datetime(2026, 1, 1, tzinfo=UTC)
    return Session("ses-a", "run-a", opened, tokens_read=read, tokens_written=written, cost=cost)


def test_sessions_add_up_and_those_that_told_nothing_are_counted() -> None:
    total = total_usage([a_session(1000, 10, 0.5), a_session(), a_session(cost=0.25), a_session(5)])
    assert total == Spent(1005, 10, 0.75, told=3, untold=1)


@pytest.mark.parametrize(
    ("total", "words"),
    [
        (Spent(), None),
        (Spent(untold=3), None),
        (Spent(12_000, 3_400, 1.2, told=2), "12,000 tokens read, 3,400 written, 1.20 US dollars"),
        (Spent(12_000, 3_400, None, told=2, untold=1), "12,000 tokens read, 3,400 written (2 of 3 sessions told it)"),
        (Spent(cost=0.0, told=1), "0.00 US dollars"),
    ],
)
def test_what_was_used_is_said_in_words(total: Spent, words: str | None) -> None:
    assert format_usage(total) == words


def test_a_session_that_goes_on_with_a_conversation_has_the_rest_of_it() -> None:
    earlier = a_session(1000, 100, 0.5)
    assert remaining_usage(Spent(1500, 120, 0.75), [earlier]) == Spent(500, 20, 0.25)
    assert remaining_usage(Spent(1500, 120, None), []) == Spent(1500, 120, None)
    assert remaining_usage(Spent(10, 1, 0.1), [earlier]) == Spent(0, 0, 0.0)
