"""Unmask redacted values before a foreign file is written, so that it keeps the secrets that the journal masks."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

MARK = "[redacted "
NAMED_BY = ("id", "task", "decision", "error")  # keys that identify an entry of a list

Place = tuple[str | int, ...]


def unmask(ours: Any, theirs: Any, clean: Callable[[Any], Any]) -> Any:
    """Our value, with each redacted string replaced by the string of the file that redaction turns into it.

    The string in the same position is preferred, then others with the same redacted form, in their order. List entries
    that differ only in their secrets are one entry to the journal, so all of them are kept.
    """
    if not any(MARK in text for _, text in texts(ours)):
        return ours
    hidden = clean(theirs)
    return _Originals(theirs, hidden).value(ours, theirs, hidden)


class _Originals:
    """The original strings of a file, by position and by their redacted form."""

    def __init__(self, theirs: Any, hidden: Any) -> None:
        self.alike: defaultdict[str, deque[str]] = defaultdict(deque)
        for (_, raw), (_, shown) in zip(texts(theirs), texts(hidden), strict=False):
            if raw != shown:
                self.alike[shown.strip()].append(raw.strip())

    def value(self, ours: Any, theirs: Any, hidden: Any) -> Any:
        """Our value, unmasked by the file's value in the same position, which is given raw and redacted."""
        if isinstance(ours, dict):
            return self._object(ours, theirs, hidden)
        if isinstance(ours, list):
            same = isinstance(theirs, list) and isinstance(hidden, list)
            return list(self._list(ours, theirs if same else [], hidden if same else []))
        return self._text(ours, theirs, hidden) if isinstance(ours, str) and MARK in ours else ours

    def _object(self, ours: dict[str, Any], theirs: Any, hidden: Any) -> dict[str, Any]:
        there: dict[str, tuple[Any, Any]] = {}
        if isinstance(theirs, dict) and isinstance(hidden, dict) and len(theirs) == len(hidden):
            there = dict(zip(hidden, zip(theirs.values(), hidden.values(), strict=True), strict=True))
        return {
            self._text(name, None, None) if MARK in name else name: self.value(item, *there.get(name, (None, None)))
            for name, item in ours.items()
        }

    def _list(self, ours: list[Any], theirs: list[Any], hidden: list[Any]) -> Iterator[Any]:
        groups: defaultdict[object, deque[tuple[Any, Any]]] = defaultdict(deque)
        for raw, shown in zip(theirs, hidden, strict=False):
            groups[_name(shown)].append((raw, shown))
        left = Counter(map(_name, ours))
        for item in ours:
            name = _name(item)
            group = groups.get(name)
            yield self.value(item, *(group.popleft() if group else (None, None)))
            left[name] -= 1
            if group and not left[name]:  # entries that are indistinguishable from this one once redacted
                yield from (raw for raw, shown in group if raw != shown)

    def _text(self, ours: str, theirs: Any, hidden: Any) -> str:
        if isinstance(theirs, str) and isinstance(hidden, str) and hidden.strip() == ours.strip():
            return theirs.strip()
        alike = self.alike.get(ours.strip())
        if not alike:
            return ours
        return alike.popleft() if len(alike) > 1 else alike[0]


def _name(item: Any) -> object:
    """The identity of a list entry."""
    if isinstance(item, dict):
        return next(((key, item[key]) for key in NAMED_BY if isinstance(item.get(key), str)), None)
    return item.strip() if isinstance(item, str) else None


def texts(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every string of a value with its position, names of members included."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield (*place, name, ""), name
            yield from texts(item, (*place, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, (*place, number))
