"""Text for eyes and for models: what could act instead of being read is taken out.

Everything that an agent, a repository or another tool wrote passes through `visible` before it reaches a terminal
or a context. It is not redaction: secrets are another matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import Enum

from holdfast.core.errors import WrongUsage

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
LIMIT = 20_000
SHORT, LONG = 5, 40  # characters: below, one letter may be wrong and not two; above, nothing is compared
NOTHING = "&#8203;"
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MARKED = re.compile(r"[\\`*_\[\]|~$]")
LEADING = re.compile(r"^([-+=:/]|\d+(?=[.)]))")  # would begin a list, a heading, a quick action
REFERRING = re.compile(r"[@#!](?=\w)|\bGH-(?=\d)|://|\bwww\.", re.IGNORECASE)  # names, issues, addresses
IN_XML = str.maketrans({**ENTITIES, '"': "&quot;", "'": "&apos;"})
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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


def as_tuple(words: Sequence[str]) -> tuple[str, ...]:
    """Several words, or just one, which is easily given without the brackets."""
    return (words,) if isinstance(words, str) else tuple(words)


def checked(text: str, noun: str, limit: int = LIMIT) -> str:
    """A user's text, if it is neither empty nor longer than the limit."""
    if not visible(text).strip():
        raise WrongUsage(f"The {noun} is empty", [], [f"write the {noun} as one argument, in quotes"])
    if len(text) > limit:
        raise WrongUsage(f"The {noun} is too long", [("characters", len(text)), ("limit", limit)], ["shorten it"])
    return text


def nearest(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that this one abbreviates, or else those within the fewest edits; none where all are far."""
    folded, names = word[: LONG + 1].casefold(), list(known) if len(word) <= LONG else []
    if begun := [name for name in names if folded and name.startswith(folded)]:
        return begun[:most]
    distances = {name: edits(folded, name) for name in names}
    limit = min(len(folded) - 1, 1 if len(folded) < SHORT else 2)
    least = min(distances.values(), default=limit + 1)
    return [name for name, distance in distances.items() if distance == least <= limit][:most]


def edits(a: str, b: str) -> int:
    """Letters to insert, delete, replace or swap with their neighbour until one word is the other."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def as_markdown(text: str, width: int = 500) -> str:
    """A text as one line of Markdown that shows it, and nothing else."""
    line = "".join(ENTITIES.get(letter, letter) for letter in one_line(text, width))
    line = MARKED.sub(r"\\\g<0>", line)
    line = REFERRING.sub(_apart, line)
    return LEADING.sub(rf"{NOTHING}\1", line)


def _apart(found: re.Match[str]) -> str:
    """Something that would refer, with the space inside it; a hash could also begin a heading."""
    text = found.group()
    if text[0] == "#":
        return f"\\#{NOTHING}"
    return f":{NOTHING}//" if text == "://" else f"{text}{NOTHING}"


def as_code(text: str, width: int = 300) -> str:
    """A text between backticks, however many stand in it; in a table too."""
    line = one_line(text, width).replace("|", "¦")
    ticks = "`" * (1 + max((len(found) for found in re.findall("`+", line)), default=0))
    between = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{between}{line or '?'}{between}{ticks}"


def as_xml(text: str, width: int = 300) -> str:
    """A text inside an element or an attribute of XML."""
    return NOT_IN_XML.sub("", visible(one_line(text, width))).translate(IN_XML)


class Zone(Enum):
    """In which zone a time is printed, and whether its name is."""

    LOCAL = "local"  # for people, who know where they are
    NAMED = "named"  # local, with its offset: for documents, and with --verbose
    UTC = "UTC"  # in JSON


def format_time(time: datetime, zone: Zone = Zone.NAMED, *, seconds: bool = False) -> str:
    """A time in the only form in which one is printed."""
    there = _in_zone(time, zone)
    text = f"{there:%Y-%m-%d %H:%M:%S}" if seconds else f"{there:%Y-%m-%d %H:%M}"
    if zone is Zone.LOCAL:
        return text
    offset = f"{there:%z}"
    return f"{text} {offset[:3]}:{offset[3:5]}" if there.utcoffset() else f"{text} UTC"


def ago(time: datetime, now: datetime) -> str:
    """How long ago a time was, in its largest unit."""
    seconds = int((now - time).total_seconds())
    if seconds < -60:
        return "in the future: a clock was wrong"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def format_date(time: datetime) -> str:
    """The local date."""
    return f"{_in_zone(time, Zone.LOCAL):%Y-%m-%d}"


def _in_zone(time: datetime, zone: Zone) -> datetime:
    try:
        return time.astimezone(UTC if zone is Zone.UTC else None)
    except (OverflowError, ValueError, OSError):  # at either end of the calendar no other zone can be reckoned
        return time


def stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: object) -> datetime | None:
    """A time as these files write it: with a Z, an offset, or nothing, which means UTC; None for anything else."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
