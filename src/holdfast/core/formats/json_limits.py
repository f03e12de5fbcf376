"""Limits of JSON: the number of values in a text, checked before decoding, and the levels of nesting.

Twenty megabytes of empty objects would decode to a gigabyte, in half a minute.
"""

from __future__ import annotations

import re

MOST = 500_000  # values in one text
DEPTH = 100  # levels of objects and arrays
TOKENS = 4 * MOST  # more of them cannot be valid JSON, which has at most two strings per comma or bracket
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)
QUOTE = ord('"')


def is_dense(text: bytes | str) -> bool:
    """Return True if the text holds more values than the limit. The content of strings does not count."""
    if len(text) <= MOST:
        return False
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) <= MOST:
        return False
    left = MOST
    for number, token in enumerate(TOKEN.finditer(data)):
        left -= data[token.start()] != QUOTE
        if left < 0 or number > TOKENS:
            return True
    return False


def is_deeper(value: object, depth: int = DEPTH) -> bool:
    """Return True if objects and arrays are nested more than `depth` levels."""
    level = [value]
    while level and depth:
        depth -= 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if type(inner) in (dict, list)
        ]
    return bool(level)


def sparse(data: bytes) -> bytes:
    """Return the data unchanged; ValueError, as for undecodable data, if it is dense."""
    if is_dense(data):
        raise ValueError(f"it holds more than {MOST:,} values")
    return data
