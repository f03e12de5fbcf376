"""Tokens: how full a context is and what to do about it; what sessions have used, and its cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from holdfast.core.model import Beginning, Body, Event, Run, Session

MEASURED, COUNTED = "context.measured", "usage.counted"
SILENT = frozenset({MEASURED, COUNTED})  # what is measured is no action of the agent
COMPACTED = "context.compacted"
USUAL, LARGE, UNTOLD = 200_000, 1_000_000, 128_000  # tokens of a window: Claude's, its large one, anybody else's
LARGE_MARK = "[1m]"  # in the name of a model with the large window
HEALTHY, WARN, COMPACT = 50, 55, 78  # per cent
GOING_ON = (
    Beginning.RESUME,
    Beginning.COMPACT,
    Beginning.FORK,
)  # how a session begins that has an earlier one's context
MOST = 10**9  # tokens; what is more was not measured
ADVICE = {
    "healthy": "there is room",
    "filling": "there is room, but not for everything: keep answers short",
    "warn": "save what matters soon: `holdfast save`, `holdfast decide`, `holdfast note`",
    "compact": "save now (`holdfast save`), then compact the conversation",
}


class Fill(Struct):
    """How full a context is."""

    tokens: int
    window: int
    percent: int
    state: str  # `healthy`, `filling`, `warn` or `compact`
    advice: str


def fill_of(tokens: int | None, window: int | None) -> Fill | None:
    """What a measured number of tokens means; None where nothing was measured."""
    if tokens is None or not window:
        return None
    percent = round(100 * tokens / window)
    state = next(
        (name for name, least in (("compact", COMPACT), ("warn", WARN), ("filling", HEALTHY)) if percent >= least),
        "healthy",
    )
    return Fill(tokens, window, percent, state, ADVICE[state])


def told(fill: Fill) -> str:
    """`43 % (86,000 of 200,000 tokens)`."""
    return f"{fill.percent} % ({fill.tokens:,} of {fill.window:,} tokens)"


def window_of(tokens: int, model: str | None, known: int | None, earlier: int | None) -> int:
    """The tokens that a context holds: as the client said, or else by the model's name and what was seen in it."""
    if known:
        return known
    is_large = LARGE_MARK in (model or "") or tokens > USUAL
    return max(earlier or 0, LARGE if is_large else USUAL)


def number(value: Any) -> int | None:
    """A number of tokens, or None for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MOST else None


def measured(run: Run, event: Event, body: Body) -> None:
    """The run knows what was measured last, but not of a session that was followed by another one since."""
    is_past = run.last_session is not None and event.session not in (None, run.last_session, *run.open_sessions)
    if not is_past and (tokens := number(body.get("tokens"))) is not None:
        run.context_tokens = tokens
        run.context_window = number(body.get("window")) or run.context_window


def opened(run: Run, body: Body) -> None:
    """A session that does not go on with an earlier context has one of its own, of which nothing is known yet."""
    if body.get("begun") not in GOING_ON:
        run.context_tokens = None


def measure(session: Session, event: Event) -> None:
    """Add what was measured to a session's record; other events change nothing."""
    body = event.body
    if event.kind == COMPACTED:
        session.context_tokens = None  # nobody knows before the next answer
    elif event.kind == MEASURED and (tokens := number(body.get("tokens"))) is not None:
        session.context_tokens = tokens
        session.context_window = number(body.get("window")) or session.context_window
        session.model = _text(body.get("model")) or session.model
    elif event.kind == COUNTED:
        session.tokens_read = number(body.get("read")) or 0
        session.tokens_written = number(body.get("written")) or 0
        session.cost = _cost(body.get("cost"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _cost(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= MOST else None


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
