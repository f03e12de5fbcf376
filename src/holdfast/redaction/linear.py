"""Patterns that take linear time, whatever they are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

MEMORY = 8 << 20  # bytes that a pattern may use to stay linear without becoming slow: each of some hundred


class Match(Protocol):
    def span(self, group: int = 0) -> tuple[int, int]: ...


class Regex(Protocol):
    groups: int

    def search(self, text: bytes, pos: int = 0) -> Match | None: ...
    def match(self, text: bytes, pos: int, endpos: int) -> Match | None: ...
    def finditer(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[Match]: ...
    def fullmatch(self, text: bytes) -> Match | None: ...


class Set:
    """Many patterns as one: which of them find something in a text."""

    def __init__(self, sources: Iterable[str], memory: int) -> None:
        import re2

        self._set = re2.Set.SearchSet(_options(memory, captures=False))
        for source in sources:
            self._set.Add(source.encode())
        self._set.Compile()

    def match(self, text: bytes) -> list[int]:
        return self._set.Match(text) or []


def compiled(source: str, *, captures: bool = True, memory: int = MEMORY) -> Regex:
    """A pattern that takes linear time; ValueError where it is none."""
    import re2  # loaded where something is stored or leaves, and nowhere else

    try:
        return cast(Regex, re2.compile(source.encode(), _options(memory, captures)))
    except re2.error as error:
        why = error.args[0] if error.args else "it is no pattern"
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from error


def _options(memory: int, captures: bool) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = memory
    options.log_errors = False
    options.never_capture = not captures
    return options
