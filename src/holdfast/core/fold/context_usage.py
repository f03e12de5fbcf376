"""How full an agent's context is: what was measured, of how much, and what to do about it."""

from __future__ import annotations

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
