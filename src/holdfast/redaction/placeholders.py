"""Marks that stand for secrets: what they say, and how they get into a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.redaction.patterns import Found

BESIDE = 3  # lines before and behind a mark in which it may have made a border


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


def with_marks(data: bytes, found: list[Found]) -> tuple[bytes, list[tuple[int, int]]]:
    """The text with marks in place of what was found, and where they stand in it."""
    pieces, at, size, places = [], 0, 0, []
    for start, end, kind in found:
        marked = mark(kind).encode()
        size += start - at
        places.append((size, size + len(marked)))
        pieces += [data[at:start], marked]
        size += len(marked)
        at = end
    return b"".join((*pieces, data[at:])), places


def around(data: bytes, places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The lines in which these places are, with some before and behind; what is close together is one."""
    start = end = before = -1
    for first, last in places:
        is_same_line = before >= 0 and data.find(b"\n", before, last + 1) < 0
        before = last
        if is_same_line:
            continue
        begin, stop = first, last
        for _ in range(BESIDE):
            begin = data.rfind(b"\n", 0, max(begin, 0))
            stop = data.find(b"\n", stop + 1) if stop >= 0 else stop
        begin, stop = begin + 1, stop if stop >= 0 else len(data)
        if end >= begin:
            end = max(end, stop)
            continue
        if end >= 0:
            yield start, end
        start, end = begin, stop
    if end >= 0:
        yield start, end


def words_with_marks(words: Sequence[bytes], found: list[Found]) -> Iterator[bytes]:
    """The same for words with a blank between each two, in which it was found where they are one line."""
    at = 0
    for word in words:
        end = at + len(word)
        inside = [one for one in found if one.start < end and one.end > at]
        yield with_marks(word, [Found(max(one.start - at, 0), min(one.end, end) - at, one.kind) for one in inside])[0]
        at = end + 1


def located(data: bytes, hidden: list[tuple[str, str]]) -> list[Found]:
    """Where in a text that is JSON what was hidden in it stands; where it is written otherwise, behind the last."""
    import json  # few commands look for any

    found, at = [], 0
    for kind, secret in hidden:
        forms = {
            json.dumps(secret, ensure_ascii=plain)[1:-1].encode("utf-8", "surrogatepass") for plain in (True, False)
        }
        places = [(place, len(form)) for form in forms for start in (at, 0) if (place := data.find(form, start)) >= 0]
        at, length = places[0] if places else (at, 1)
        found.append(Found(at, at + length, kind))
        at += length
    return found
