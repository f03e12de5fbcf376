"""What stands in for a text that is too long to be told: how long it is, and what it is about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import msgspec

from holdfast.core.text import one_line

HEADINGS, KEYS, LINES, WIDTH = 20, 30, 5, 160
HEADING = re.compile(r"^#{1,4} .+$", re.MULTILINE)
TOKEN = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*+:)?|[{}\[\]]|"', re.DOTALL)  # of JSON; a lone quote is never closed


def summary(kind: str, text: str, size: int | None = None) -> str:
    """The size of a text, its headings or keys, and how it begins; with a size in bytes, of a text that was cut off.

    Of the line in which it was cut off only keys are named, which are whole: half a line may hold half a secret.
    """
    if size is None:
        lines, number = text, text.count("\n") + 1
        length = f"{len(text):,} characters, {number:,} lines"
    else:
        lines, number = text.rpartition("\n")[0], text.count("\n")
        length = f"{size:,} bytes"
    shown = _keys(text) if kind == "json" else _headings(lines)
    if not shown and lines:
        begin = lines[: LINES * 1_000].splitlines()[:LINES]
        shown = ["It begins:", *(f"  {one_line(line, WIDTH)}" for line in begin)]
    said = f"Not loaded whole: {length}. Read the part that you need."
    if size is not None and shown:
        said += f" Of the first {f'{number:,} lines' if number else f'{len(text):,} characters'}:"
    return "\n".join([said, *shown]) + "\n"


def _headings(text: str) -> list[str]:
    found = HEADING.findall(text)
    more = [f"  and {len(found) - HEADINGS:,} more"] if len(found) > HEADINGS else []
    return ["Its headings:", *(f"  {one_line(line, WIDTH)}" for line in found[:HEADINGS]), *more] if found else []


def _keys(text: str) -> list[str]:
    found = list(itertools.islice(_members(text), KEYS + 1))
    names = ", ".join(one_line(name, 40) for name in found[:KEYS])
    return [f"Its keys: {names}{' and more' if len(found) > KEYS else ''}"] if found else []


def _members(text: str) -> Iterator[str]:
    """The names of an object's members, also of one that is cut off."""
    depth, known = 0, set[str]()
    for token in TOKEN.finditer(text):
        string, colon = token.groups()
        if string is not None:
            if depth == 1 and colon and string not in known:
                known.add(string)
                yield from _decoded(string)
        elif (depth == 0 and token[0] != "{") or token[0] == '"':
            return
        else:
            depth += 1 if token[0] in "{[" else -1


def _decoded(string: str) -> list[str]:
    try:
        return [msgspec.json.decode(string, type=str)]
    except (msgspec.MsgspecError, ValueError):
        return []
