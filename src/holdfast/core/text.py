"""Text for eyes and for models: what could act instead of being read is taken out.

Everything that an agent, a repository or another tool wrote passes through `visible` before it reaches a terminal
or a context. It is not redaction: secrets are another matter.
"""

from __future__ import annotations

import os
import re

# C0 but tab and newline, DEL, C1; zero-width and bidirectional marks; line separators; tag characters;
# variation selectors and their supplement; interlinear annotations; lone surrogates. The two selectors that emoji are
# made with stay where one is behind a symbol: anywhere else they hide, and rows of selectors carry whole texts.
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]+"
    "|(?<![\u00a9\u00ae\u203c-\u205f\u2070-\u3163\u3165-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]+"
)
CONTROL = bytes((*range(0x09), *range(0x0B, 0x20), 0x7F))  # those of them that are ASCII
SMALLEST, LARGEST = -(2**63), 2**64 - 1  # whole numbers that a writer of JSON takes
WHITE = re.compile(r"\s+")
ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|\\)")


def visible(text: str) -> str:
    """The text without control, bidirectional, zero-width and tag characters; tabs and newlines stay."""
    if text.isascii():
        return text if text.isprintable() else text.encode().translate(None, CONTROL).decode()
    return ACTING.sub("", text)


def one_line(text: str, width: int | None = None) -> str:
    """The text on one line, cut with an ellipsis where it is longer than width."""
    line = WHITE.sub(" ", visible(text)).strip()
    return line if width is None or len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def spelled(text: str) -> str:
    """The text with every character spelled out that acts or hides: `\\x1b`, `\\u202e`. Nothing of it is left out."""
    return ACTING.sub(lambda found: ascii(found.group())[1:-1], text)


def sound_text(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be stored as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sound(value: object, *, small: bool = False) -> object:
    """A decoded JSON value, all its texts made sound; if `small`, with the digits of numbers that few readers take."""
    if isinstance(value, str):
        return sound_text(value)
    if small and isinstance(value, int):
        return value if SMALLEST <= value <= LARGEST else str(value)
    if isinstance(value, list | tuple):
        return [sound(item, small=small) for item in value]
    if isinstance(value, dict):
        return {sound(key): sound(item, small=small) for key, item in value.items()}
    return value


def path_text(path: str | os.PathLike[str]) -> str:
    """A path as text that can be stored and shown, whatever bytes it is made of."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def escape_path(path: bytes) -> str:
    """A path as text from which its bytes can be made again: `\\xff` for what is not UTF-8, `\\\\` for a backslash."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def unescape_path(text: str) -> bytes:
    return ESCAPED.sub(lambda found: bytes([int(found[1], 16)]) if found[1] else b"\\", text.encode())


def count(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
