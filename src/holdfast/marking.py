"""Marks that stand for secrets: what they say, and how they get into a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.patterns import Found


def mark(kind: str) -> str:
    return f"[redacted {kind}]"


def merged(found: list[Found]) -> list[Found]:
    """Those that overlap as one, of the kind that was looked for first."""
    result: list[Found] = []
    order = {one: number for number, one in reversed(list(enumerate(found)))}
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if result and one.start < result[-1].end:
            first = min(result[-1], one, key=lambda each: order.get(each, 0))
            result[-1] = Found(result[-1].start, max(result[-1].end, one.end), first.kind)
        else:
            result.append(one)
    return result


def with_marks(data: bytes, found: list[Found]) -> bytes:
    pieces, at = [], 0
    for start, end, kind in found:
        pieces += [data[at:start], mark(kind).encode()]
        at = end
    return b"".join((*pieces, data[at:]))


def words_with_marks(words: Sequence[bytes], found: list[Found]) -> Iterator[bytes]:
    """The same for words with a blank between each two, in which it was found where they are one line."""
    at = 0
    for word in words:
        end = at + len(word)
        inside = [one for one in found if one.start < end and one.end > at]
        yield with_marks(word, [Found(max(one.start - at, 0), min(one.end, end) - at, one.kind) for one in inside])
        at = end + 1
