"""What people tell a run, checked once: neither empty nor endless."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.errors import WrongUsage
from holdfast.core.text import visible

LIMIT = 20_000


def as_tuple(words: Sequence[str]) -> tuple[str, ...]:
    """Several words, or just one, which is easily given without the brackets."""
    return (words,) if isinstance(words, str) else tuple(words)


def checked(text: str, noun: str, limit: int = LIMIT) -> str:
    """The text itself, or one sentence about what is wrong with it."""
    if not visible(text).strip():
        raise WrongUsage(f"The {noun} is empty", [], [f"write the {noun} as one argument, in quotes"])
    if len(text) > limit:
        raise WrongUsage(f"The {noun} is too long", [("characters", len(text)), ("limit", limit)], ["shorten it"])
    return text
