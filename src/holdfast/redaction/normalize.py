"""Texts as every exit shows them. What is taken away there can put a secret together that stood in pieces."""

from __future__ import annotations

import functools
from collections.abc import Collection

from holdfast.core.text import visible
from holdfast.redaction.regex import Regex, compiled

# What `visible` takes away, in UTF-8: much text is looked through, and hardly any has such a character. The two
# selectors of emoji count everywhere.
ACTING = (
    r"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c"
    r"|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    r"|\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|\xe3\x85\xa4|\xed[\xa0-\xbf]"
    r"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb])"
    r"|\xf0(?:\x93\x90[\xb0-\xbf]|\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])|\xf3\xa0"
)


LONGEST = 1 << 16  # bytes of a line that is looked at by itself: more copies of a long text would take memory
MOST = 1000  # characters that are taken away from a text line by line; of more, all lines are looked at


def shown(texts: Collection[str]) -> set[str]:
    """The texts as they are shown; none of them, where nothing is taken away from any."""
    is_changed = _acting().search("".join(texts).encode("utf-8", "surrogatepass"))
    return {_shown(text) for text in texts} if is_changed else set()


def _shown(text: str) -> str:
    """What `visible` makes of a text, which takes longer the longer the text is: given only the lines it changes."""
    if text.count("\n") * LONGEST < len(text) - LONGEST:
        return visible(text)
    data = text.encode("utf-8", "surrogatepass")
    pieces, at = [], 0
    for number, match in enumerate(_acting().finditer(data)):
        if number == MOST:
            return visible(text)
        if match.span()[0] < at:
            continue
        start = data.rfind(b"\n", at, match.span()[0]) + 1 or at
        end = data.find(b"\n", match.span()[1])
        end = len(data) if end < 0 else end
        if end - start > LONGEST:
            return visible(text)
        line = data[start:end].decode("utf-8", "surrogatepass")
        pieces += [data[at:start], visible(line).encode("utf-8", "surrogatepass")]
        at = end
    return b"".join((*pieces, data[at:])).decode("utf-8", "surrogatepass") if pieces else text


@functools.cache
def _acting() -> Regex:
    return compiled(ACTING, captures=False)
