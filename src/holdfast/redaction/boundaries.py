"""Boundaries of an unquoted secret, which may contain punctuation that would end a word in code."""

from __future__ import annotations

import re

from holdfast.redaction.false_positives import DIGITS, LETTERS

FURTHEST = 300  # bytes up to its end; unlimited, a text of many names without a blank would take quadratic time
MOST_BEHIND = 8  # trailing signs that are cut off
LONGEST_NAME = 100
MARK = b"[redacted "
ENDS = re.compile(rb"[\s\"'`]|\\[A-Za-z\"'\\]|</")
PARTS = re.compile(rb"[&;,#]")  # separators in a URL or a list of settings
LISTED = (b"?", b"&", b";", b",")  # the sign before a name there
OPENED = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}
OPENING = b"([{<"
SEPARATED = bytes(byte if byte in LETTERS + DIGITS else 32 for byte in range(256))
NAMELY = LETTERS + DIGITS + b"_.:->$@"


def reach(text: bytes, start: int, end: int, begin: int = 0) -> int:
    """The end of a secret: a blank or a quote, without trailing punctuation of a sentence or of code.

    `begin` is the start of its name: in a URL or a list of settings, the secret ends where the next setting starts.
    """
    end = _stop(text, start, end)
    if begin and text[begin - 1 : begin] in LISTED and (part := PARTS.search(text, start, end)):
        end = part.start()
    for _ in range(MOST_BEHIND):
        if text[end - 1] not in b",;.:" and not _is_too_many(text, start, end):
            break
        end -= 1
    return end


def _is_too_many(text: bytes, start: int, end: int) -> bool:
    """True if the last sign closes a bracket that was opened before the text."""
    opening = OPENED.get(text[end - 1 : end])
    return opening is not None and text.count(text[end - 1 : end], start, end) > text.count(opening, start, end)


def is_name(head: bytes) -> bool:
    """True for an identifier of code: words with at most one number in each."""
    if len(head) > LONGEST_NAME or not head.strip(DIGITS) or head[:1].isdigit() or head.translate(None, NAMELY):
        return False
    return all(not part.lstrip(LETTERS).lstrip(DIGITS).lstrip(LETTERS) for part in head.translate(SEPARATED).split())


def is_torn(text: bytes, start: int, end: int) -> bool:
    """True at the end of a line with an unclosed bracket: code would close it there or continue after it."""
    last = _stop(text, start, end)
    return is_last(text, start, end) and any(
        text.count(opening, start, last) > text.count(closing, start, last) for closing, opening in OPENED.items()
    )


def is_last(text: bytes, start: int, end: int) -> bool:
    """True at the end of a line that needs no continuation."""
    last = _stop(text, start, end)
    return text[last : last + 1] in (b"", b"\n", b"\r", b"\\") and text[last - 1] not in OPENING + b",;"


def _stop(text: bytes, start: int, end: int) -> int:
    furthest = min(len(text), end + FURTHEST)
    found = ENDS.search(text, end, furthest)
    last = found.start() if found else furthest
    mark = text.find(MARK, start, last + len(MARK))
    return mark if mark > start else last
