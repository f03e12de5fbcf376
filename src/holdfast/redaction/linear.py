"""Patterns that take linear time, whatever they are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

MEMORY = 8 << 20  # bytes that a pattern may use to stay linear without becoming slow: each of some hundred


class Match(Protocol):
    def span(self, group: int = 0) -> tuple[int, int]: ...


class Regex(Protocol):
    groups: int

    def search(self, text: bytes) -> Match | None: ...
    def finditer(self, text: bytes) -> Iterator[Match]: ...
    def fullmatch(self, text: bytes) -> Match | None: ...


def compiled(source: str, *, captures: bool = True, memory: int = MEMORY) -> Regex:
    """A pattern that takes linear time; ValueError where it is none."""
    import re2  # loaded where something is stored or leaves, and nowhere else

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = memory
    options.log_errors = False
    options.never_capture = not captures
    try:
        return cast(Regex, re2.compile(source.encode(), options))
    except re2.error as error:
        why = error.args[0] if error.args else "it is no pattern"
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from error
