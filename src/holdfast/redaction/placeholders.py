"""Placeholders for secrets: `[redacted KIND]`, put into a text in place of the spans that were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.redaction.patterns import Found


def mark(kind: str) -> str:
    return f"[redacted {kind}]"


def merged(found: list[Found]) -> list[Found]:
    """Overlapping findings merged into one, with the kind that was found first."""
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
    """The text with placeholders for all findings."""
    pieces, at = [], 0
    for start, end, kind in found:
        pieces += [data[at:start], mark(kind).encode()]
        at = end
    return b"".join((*pieces, data[at:]))


def words_with_marks(words: Sequence[bytes], found: list[Found]) -> Iterator[bytes]:
    """The words with placeholders for all findings, whose positions refer to the words joined by blanks."""
    at = 0
    for word in words:
        end = at + len(word)
        inside = [one for one in found if one.start < end and one.end > at]
        yield with_marks(word, [Found(max(one.start - at, 0), min(one.end, end) - at, one.kind) for one in inside])
        at = end + 1


def located(data: bytes, hidden: list[tuple[str, str]]) -> list[Found]:
    """Spans of masked secrets in a JSON text; one with another encoding gets the position after the last one found."""
    import json  # lazy: rarely needed

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
