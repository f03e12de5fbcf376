"""Other forms of a text, in which a secret may be recognisable: its display form, decoded base64 and percent-encoding.

Every output shows the display form: without control characters, whose removal can join the parts of a secret.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Collection, Iterator
from urllib.parse import unquote_to_bytes

from holdfast.core.text import CONTROL, visible
from holdfast.redaction.regex import Regex, compiled

# The characters that `visible` removes, in UTF-8: a fast test, since hardly any text contains one. The two variation
# selectors of emoji match anywhere, although `visible` keeps them after a symbol.
ACTING = (
    r"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c"
    r"|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    r"|\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|\xe3\x85\xa4|\xed[\xa0-\xbf]"
    r"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb])"
    r"|\xf0(?:\x93\x90[\xb0-\xbf]|\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])|\xf3\xa0"
)
BESIDE = 3  # lines before and after a changed one in which its secret may be
MOST = 1000  # removed characters that are handled line by line; with more, all lines are
MOST_LINES = 5000  # changed lines that are scanned on their own; with more, the whole text is
EDGE = 1000  # characters that show whether a text starts and ends like JSON
JSON = ("{}", "[]", '""')  # first and last character of JSON
GOES_ON = re.compile(rb".*\\\r?|[ \t]*[A-Za-z0-9+/]{40,}={0,2}\r?", re.DOTALL)  # a line that the next one continues
# Base64 of ASCII: the first bit of each of three bytes is 0, so three of four characters have half the values.
BASE64 = r"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){6,}[\w+/-]{0,3}={0,2}"
PERCENT = r"[^\s\"'<>`]*%[0-9A-Fa-f]{2}[^\s\"'<>`]*"  # a word with a percent-encoded character
FULL = 40  # characters at least of a line of wrapped base64
LINES = rf"(?:\\[nrt])?((?:[A-Za-z0-9+/]{{{FULL},}}(?:\r?\n|(?:\\r)?\\n)[ \t]*)+[A-Za-z0-9+/]+={{0,2}})"
BREAK = re.compile(rb"(?:\r?\n|(?:\\r)?\\n)[ \t]*")


def display_forms(texts: Collection[str]) -> set[str]:
    """The display forms of texts; empty if all of them are displayed unchanged."""
    is_changed = compiled(ACTING, captures=False).search("".join(texts).encode("utf-8", "surrogatepass"))
    return {visible(text) for text in texts} if is_changed else set()


def display_parts(text: str, beside: int = BESIDE) -> list[str]:
    """The changed lines of a text's display form, with the lines around them, in one or several parts.

    A secret that is in the display form and not in the text itself is in one of them. If most lines change, or the
    display form may be JSON, the only part is the whole text.
    """
    data = text.encode("utf-8", "surrogatepass")
    if compiled(ACTING, captures=False).search(data) is None:
        return []
    first, last = visible(text[:EDGE]).strip()[:1], visible(text[-EDGE:]).strip()[-1:]
    controls = len(data) - len(data.translate(None, CONTROL))
    if controls < MOST and first and last and first + last not in JSON:
        parts = list(_parts(data, beside))
        is_short = 2 * sum(end - start for start, end in parts) < len(data)
        if is_short and not any(b"PRIVATE KEY" in data[start:end] for start, end in parts):
            return [visible(data[start:end].decode("utf-8", "surrogatepass")) for start, end in parts]
    return [visible(text)]


def _parts(data: bytes, beside: int) -> Iterator[tuple[int, int]]:
    """Spans of the lines with removed characters and the lines around them; the whole text if there are too many."""
    start = end = at = 0
    for _ in range(MOST_LINES):
        if (match := compiled(ACTING, captures=False).search(data, at)) is None:
            break
        at = data.find(b"\n", match.span()[1])
        at = at if at >= 0 else len(data)
        first = _before(data, data.rfind(b"\n", 0, match.span()[0]) + 1, beside, end)
        if first > end:
            if end:
                yield start, end
            start = first
        end = _behind(data, at, beside)
    else:
        start, end = 0, len(data)
    if end:
        yield start, end


def _before(data: bytes, start: int, beside: int, least: int) -> int:
    """The start of the context before a line: `beside` lines, and all further lines that continue into them."""
    while start > least:
        before = data.rfind(b"\n", 0, start - 1) + 1
        if beside <= 0 and GOES_ON.fullmatch(data, before, start - 1) is None:
            break
        start, beside = before, beside - 1
    return start


def _behind(data: bytes, end: int, beside: int) -> int:
    """The end of the context after a line that ends here."""
    start = data.rfind(b"\n", 0, end) + 1
    while end < len(data) and (beside > 0 or GOES_ON.fullmatch(data, start, end)):
        start, beside = end + 1, beside - 1
        end = data.find(b"\n", start)
        end = end if end >= 0 else len(data)
    return end


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
