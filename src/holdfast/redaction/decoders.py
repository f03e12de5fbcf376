"""Decoders for base64 and percent-encoding: patterns for encoded words, and their decoded text."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from holdfast.redaction.regex import Regex

# Base64 of ASCII: the first bit of each of three bytes is 0, so three of four characters have half the values.
BASE64 = r"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){6,}[\w+/-]{0,3}={0,2}"
PERCENT = r"%[0-9A-Fa-f]{2}[^\s\"'<>`]*"  # the rest of an encoded word; its start is searched for backwards from here
PERCENT_WORD = bytes(byte for byte in range(256) if byte not in b" \t\n\f\r\"'<>`")
NEAR = 256  # bytes that hold the start of most words

FULL = 40  # characters at least of a line of wrapped base64
LINES = rf"(?:\\[nrt])?((?:[A-Za-z0-9+/]{{{FULL},}}(?:\r?\n|(?:\\r)?\\n)[ \t]*)+[A-Za-z0-9+/]+={{0,2}})"
BREAK = re.compile(rb"(?:\r?\n|(?:\\r)?\\n)[ \t]*")


def wrapped(data: bytes, lines: Regex) -> Iterator[tuple[int, int, bytes]]:
    """Base64 wrapped in lines of one length: its span and the joined text, since a secret may span lines."""
    for match in lines.finditer(data):
        start, end = match.span(1)
        stops = [*(found.span() for found in BREAK.finditer(data, start, end)), (end, end)]
        size, at, until, full = stops[0][0] - start, start, start, []
        for stop, after in stops:
            if stop - at != size:
                break
            full.append(data[at:stop])
            until, at = stop, after
        if size % 4 == 0:
            yield start, until, b"".join(full)
        if size % 4 == 0 and 0 < stop - at < size:  # the last line, or a word of the text after it
            yield start, stop, b"".join((*full, data[at:stop]))


def percent_encoded(data: bytes, rests: Regex) -> Iterator[tuple[int, int]]:
    """Spans of words with a percent-encoded character."""
    last = 0
    for match in rests.finditer(data):
        start, end = match.span()
        while start > last:
            before = data[max(last, start - NEAR) : start]
            rest = before.rstrip(PERCENT_WORD)
            start -= len(before) - len(rest)
            if rest:
                break
        yield start, end
        last = end


def from_base64(word: bytes) -> bytes | None:
    """The ASCII text that a word of base64 encodes; None if it is none."""
    bare = word.rstrip(b"=")
    if b"-" in bare or b"_" in bare:  # avoids a copy: a word may have megabytes
        bare = bare.translate(bytes.maketrans(b"-_", b"+/"))
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    try:
        plain = binascii.a2b_base64(bare + b"=" * (-len(bare) % 4) if len(bare) % 4 else bare)
    except (binascii.Error, ValueError):
        return None
    return plain if plain.isascii() else None


def from_percent(word: bytes) -> bytes | None:
    plain = unquote_to_bytes(word)
    return plain if plain != word else None
