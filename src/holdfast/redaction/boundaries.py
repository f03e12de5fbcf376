"""How far a secret reaches that no quotes enclose: it may hold the signs that end a word in code."""

from __future__ import annotations

import re

from holdfast.redaction.false_positives import DIGITS, LETTERS

FURTHEST = 300  # bytes to its end: a text of many names and no blank would take the square of its length
MOST_BEHIND = 8  # signs that are taken off
LONGEST_NAME = 100
MARK = b"[redacted "
ENDS = re.compile(rb"[\s\"'`]|\\[A-Za-z\"'\\]|</")
PARTS = re.compile(rb"[&;,#]")  # of an address or a list of settings
LISTED = (b"?", b"&", b";", b",")  # what a name stands behind there
OPENED = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}
OPENING = b"([{<"
SEPARATED = bytes(byte if byte in LETTERS + DIGITS else 32 for byte in range(256))
NAMELY = LETTERS + DIGITS + b"_.:->$@"


def reach(text: bytes, start: int, end: int, begin: int = 0) -> int:
    """Where it ends that was found so far: at a blank or a quote, without what a sentence or code puts behind it.

    `begin` is where its name does: what stands in an address or a list of settings ends where the next one begins.
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
    """Whether the last sign closes a bracket that was opened before."""
    opening = OPENED.get(text[end - 1 : end])
    return opening is not None and text.count(text[end - 1 : end], start, end) > text.count(opening, start, end)


def is_name(head: bytes) -> bool:
    """Whether code would call something so: of words, with a number in each of them at most."""
    if len(head) > LONGEST_NAME or not head.strip(DIGITS) or head[:1].isdigit() or head.translate(None, NAMELY):
        return False
    return all(not part.lstrip(LETTERS).lstrip(DIGITS).lstrip(LETTERS) for part in head.translate(SEPARATED).split())


def is_torn(text: bytes, start: int, end: int) -> bool:
    """Whether it stands at the end of a line with a bracket open, which code closes there or goes on behind."""
    last = _stop(text, start, end)
    return is_last(text, start, end) and any(
        text.count(opening, start, last) > text.count(closing, start, last) for closing, opening in OPENED.items()
    )


def is_last(text: bytes, start: int, end: int) -> bool:
    """Whether nothing comes after it in its line, and nothing has to."""
    last = _stop(text, start, end)
    return text[last : last + 1] in (b"", b"\n", b"\r", b"\\") and text[last - 1] not in OPENING + b",;"


def _stop(text: bytes, start: int, end: int) -> int:
    furthest = min(len(text), end + FURTHEST)
    found = ENDS.search(text, end, furthest)
    last = found.start() if found else furthest
    mark = text.find(MARK, start, last + len(MARK))
    return mark if mark > start else last
