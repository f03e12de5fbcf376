"""What sessions have used, as far as their agents told it: tokens and cost, of one and of all of a run."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from holdfast.core.model import Session


class Spent(Struct):
    """Tokens and cost of the sessions that told them."""

    tokens_read: int = 0
    tokens_written: int = 0
    cost: float | None = None  # in US dollars; null: no agent told it
    told: int = 0  # sessions that told anything
    untold: int = 0  # sessions of which nothing is known


def spent(sessions: Iterable[Session]) -> Spent:
    """What these sessions have used together; how many told nothing, so that nobody takes a part for the whole."""
    total = Spent()
    for session in sessions:
        total.tokens_read += session.tokens_read
        total.tokens_written += session.tokens_written
        if session.cost is not None:
            total.cost = (total.cost or 0.0) + session.cost
        if has_told(session):
            total.told += 1
        else:
            total.untold += 1
    return total


def share(total: Spent, others: Iterable[Session]) -> Spent:
    """What is left of what a conversation has used after what other sessions of it have told already."""
    known = spent(others)
    cost = max(0.0, total.cost - (known.cost or 0.0)) if total.cost is not None else None
    read, written = total.tokens_read - known.tokens_read, total.tokens_written - known.tokens_written
    return Spent(max(0, read), max(0, written), cost)


def has_told(session: Session) -> bool:
    return bool(session.tokens_read or session.tokens_written or session.cost is not None)


def in_words(total: Spent) -> str | None:
    """`12,000 tokens read, 3,400 written, 1.20 US dollars (2 of 3 sessions told it)`; None where nobody did."""
    if not total.told:
        return None
    parts = []
    if total.tokens_read or total.tokens_written:
        parts = [f"{total.tokens_read:,} tokens read", f"{total.tokens_written:,} written"]
    if total.cost is not None:
        parts.append(f"{total.cost:,.2f} US dollars")
    some = f" ({total.told} of {total.told + total.untold} sessions told it)" if total.untold else ""
    return ", ".join(parts) + some
