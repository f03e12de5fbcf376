"""Text for people and models: invisible and control characters, plurals, Markdown, XML, times.

Text written by an agent, a repository or another tool passes through `visible` before it reaches a terminal or a
context. Redaction of secrets is separate.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import Enum

from holdfast.core.errors import WrongUsage

# C0 except tab and newline, DEL, C1; zero-width and bidirectional marks; line separators; tag characters;
# variation selectors and their supplement; interlinear annotations; lone surrogates. The two selectors used by
# emoji stay behind a symbol only: elsewhere they are invisible, and long rows of them can carry hidden text.
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]+"
    "|(?<![\u00a9\u00ae\u203c-\u205f\u2070-\u3163\u3165-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]+"
)
CONTROL = bytes((*range(0x09), *range(0x0B, 0x20), 0x7F))  # the ASCII ones among them
SMALLEST, LARGEST = -(2**63), 2**64 - 1  # integers that JSON writers accept
WHITE = re.compile(r"\s+")
ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|\\)")
LIMIT = 20_000
SHORT, LONG = 5, 40  # below, one edit instead of two; above, a word is not compared
NOTHING = "&#8203;"
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MARKED = re.compile(r"[\\`*_\[\]|~$]")
LEADING = re.compile(r"^([-+=:/]|\d+(?=[.)]))")  # start of a list, heading or quick action
REFERRING = re.compile(r"[@#!](?=\w)|\bGH-(?=\d)|://|\bwww\.", re.IGNORECASE)  # mentions, issues, addresses
IN_XML = str.maketrans({**ENTITIES, '"': "&quot;", "'": "&apos;"})
NOT_IN_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # slow to compile, and rarely needed


def visible(text: str) -> str:
    """Remove control, bidirectional, zero-width and tag characters; tabs and newlines stay."""
    if text.isascii():
        return text if text.isprintable() else text.encode().translate(None, CONTROL).decode()
    return ACTING.sub("", text)


def one_line(text: str, width: int | None = None) -> str:
    """Join the text into one line, cut with an ellipsis at `width`."""
    line = WHITE.sub(" ", visible(text)).strip()
    return line if width is None or len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def spelled(text: str) -> str:
    """Escape control and invisible characters (`\\x1b`, `\\u202e`) instead of removing them."""
    return ACTING.sub(lambda found: ascii(found.group())[1:-1], text)


def sound_text(text: str) -> str:
    """Replace lone surrogates, so that the text can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sound(value: object, *, small: bool = False) -> object:
    """Apply `sound_text` to a decoded JSON value; with `small`, integers beyond 64 bits become text."""
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
    """Return any path, whatever its bytes, as text that can be stored and printed."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def escape_path(path: bytes) -> str:
    """Return a path as reversible text: `\\xff` for bytes that are not UTF-8, `\\\\` for a backslash."""
    return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def unescape_path(text: str) -> bytes:
    return ESCAPED.sub(lambda found: bytes([int(found[1], 16)]) if found[1] else b"\\", text.encode())


def count(number: int, noun: str) -> str:
    """Return `1 event`, `2 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_tuple(words: Sequence[str]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def checked(text: str, noun: str, limit: int = LIMIT) -> str:
    """Return the user's text if it is neither empty nor longer than the limit."""
    if not visible(text).strip():
        raise WrongUsage(f"The {noun} is empty", [], [f"write the {noun} as one argument, in quotes"])
    if len(text) > limit:
        raise WrongUsage(f"The {noun} is too long", [("characters", len(text)), ("limit", limit)], ["shorten it"])
    return text


def nearest(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known words that this one abbreviates, or else the closest ones within a few edits."""
    folded, names = word[: LONG + 1].casefold(), list(known) if len(word) <= LONG else []
    if begun := [name for name in names if folded and name.startswith(folded)]:
        return begun[:most]
    distances = {name: edits(folded, name) for name in names}
    limit = min(len(folded) - 1, 1 if len(folded) < SHORT else 2)
    least = min(distances.values(), default=limit + 1)
    return [name for name, distance in distances.items() if distance == least <= limit][:most]


def edits(a: str, b: str) -> int:
    """Return the Damerau-Levenshtein distance of two words."""
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
    """Return the text as one line of Markdown, with all syntax escaped."""
    line = "".join(ENTITIES.get(letter, letter) for letter in one_line(text, width))
    line = MARKED.sub(r"\\\g<0>", line)
    line = REFERRING.sub(_apart, line)
    return LEADING.sub(rf"{NOTHING}\1", line)


def _apart(found: re.Match[str]) -> str:
    """Break a reference (mention, issue, address) with a zero-width entity; a hash could also begin a heading."""
    text = found.group()
    if text[0] == "#":
        return f"\\#{NOTHING}"
    return f":{NOTHING}//" if text == "://" else f"{text}{NOTHING}"


def as_code(text: str, width: int = 300) -> str:
    """Return the text as a Markdown code span that also works in a table."""
    line = one_line(text, width).replace("|", "¦")
    ticks = "`" * (1 + max((len(found) for found in re.findall("`+", line)), default=0))
    between = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{between}{line or '?'}{between}{ticks}"


def as_xml(text: str, width: int = 300) -> str:
    """Return the text escaped for an element or attribute of XML."""
    return re.sub(NOT_IN_XML, "", visible(one_line(text, width))).translate(IN_XML)


class Zone(Enum):
    LOCAL = "local"  # for people at this machine
    NAMED = "named"  # local with offset: for documents, and with --verbose
    UTC = "UTC"  # in JSON


def format_time(time: datetime, zone: Zone = Zone.NAMED, *, seconds: bool = False) -> str:
    """Return a time as printed everywhere."""
    there = _in_zone(time, zone)
    text = f"{there:%Y-%m-%d %H:%M:%S}" if seconds else f"{there:%Y-%m-%d %H:%M}"
    if zone is Zone.LOCAL:
        return text
    offset = f"{there:%z}"
    return f"{text} {offset[:3]}:{offset[3:5]}" if there.utcoffset() else f"{text} UTC"


def ago(time: datetime, now: datetime) -> str:
    """Return the age of a time, in its largest unit."""
    seconds = int((now - time).total_seconds())
    if seconds < -60:
        return "in the future: a clock was wrong"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def format_date(time: datetime) -> str:
    return f"{_in_zone(time, Zone.LOCAL):%Y-%m-%d}"


def _in_zone(time: datetime, zone: Zone) -> datetime:
    try:
        return time.astimezone(UTC if zone is Zone.UTC else None)
    except (OverflowError, ValueError, OSError):  # not representable in that zone, near year 1 or 9999
        return time


def stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: object) -> datetime | None:
    """Parse an ISO 8601 time, UTC if it has no offset; None for anything else."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
