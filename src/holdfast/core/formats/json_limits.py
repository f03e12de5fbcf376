"""How many values a JSON text holds, known before they are made: one of three bytes takes a hundred in memory.

Twenty megabytes of empty objects would take a gigabyte and half a minute. Nobody's work is written like that.
"""

from __future__ import annotations

import re

MOST = 500_000  # values in one text
TOKENS = 4 * MOST  # where more are found, it is no JSON: that has two strings for a comma or bracket, and no more
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)
QUOTE = ord('"')


def is_dense(text: bytes | str) -> bool:
    """Whether it holds more values than anybody could use. What stands in its strings is no value."""
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


def sparse(data: bytes) -> bytes:
    """The same bytes; a ValueError, as of any that cannot be decoded, where they are dense."""
    if is_dense(data):
        raise ValueError(f"it holds more than {MOST:,} values")
    return data
