"""Regular expressions that match in linear time for any pattern and text."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

NOWHERE = (-1, -1)
MEMORY = 8 << 20  # bytes for each of about a hundred patterns: with less, the engine falls back to a slow search


class Match:
    """A match: the spans of the match and of its groups."""

    __slots__ = ("_spans",)

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = spans

    def span(self, group: int = 0) -> tuple[int, int]:
        return self._spans[group]


class Regex:
    """A pattern over bytes that calls RE2 directly: the library's own methods would take half of the time."""

    def __init__(self, pattern: Any) -> None:
        import re2

        self._match, self.groups = pattern._regexp.Match, pattern.groups
        self._anywhere, self._here, self._whole = (
            re2._Anchor.UNANCHORED,
            re2._Anchor.ANCHOR_START,
            re2._Anchor.ANCHOR_BOTH,
        )

    def search(self, text: bytes, pos: int = 0) -> Match | None:
        return self._first(self._anywhere, text, pos, len(text))

    def match(self, text: bytes, pos: int, endpos: int) -> Match | None:
        return self._first(self._here, text, pos, min(endpos, len(text)))

    def fullmatch(self, text: bytes) -> Match | None:
        return self._first(self._whole, text, 0, len(text))

    def finditer(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[Match]:
        end = len(text) if endpos is None else min(endpos, len(text))
        while pos <= end and (spans := self._match(self._anywhere, text, pos, end))[0] != NOWHERE:
            yield Match(spans)
            pos = max(pos + 1, spans[0][1])  # advances after an empty match

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        """The spans of matches without their groups, which would double the time."""
        anywhere, match, pos, end = self._anywhere, self._match, 0, len(text)
        while pos <= end and (place := match(anywhere, text, pos, end)[0]) != NOWHERE:
            yield place
            pos = max(pos + 1, place[1])

    def _first(self, anchor: Any, text: bytes, pos: int, end: int) -> Match | None:
        if pos > end:
            return None
        spans = self._match(anchor, text, pos, end)
        return None if spans[0] == NOWHERE else Match(spans)


class Set:
    """Many patterns in one automaton, which finds all that match a text."""

    def __init__(self, sources: Iterable[str], memory: int) -> None:
        import re2

        self._set = re2.Set.SearchSet(_options(memory, captures=False))
        for source in sources:
            self._set.Add(source.encode())
        self._set.Compile()

    def match(self, text: bytes) -> list[int]:
        return self._set.Match(text) or []


@functools.lru_cache(2048)
def compiled(source: str, *, captures: bool = True, memory: int = MEMORY) -> Regex:
    """Compile a pattern, and cache it; raises ValueError for an invalid one."""
    import re2  # lazy: loaded only when data is stored or sent

    try:
        return Regex(re2.compile(source.encode(), _options(memory, captures)))
    except re2.error as error:
        why = error.args[0] if error.args else "it is not a valid pattern"
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from error


def _options(memory: int, captures: bool) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = memory
    options.log_errors = False
    options.never_capture = not captures
    return options
