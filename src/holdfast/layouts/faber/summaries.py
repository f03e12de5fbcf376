"""What stands in for a text that is too long to be told: how long it is, and what it is about."""

from __future__ import annotations

import re

import msgspec

from holdfast.core.formats.json_limits import is_dense
from holdfast.core.text import one_line

HEADINGS, KEYS, LINES, WIDTH = 20, 30, 5, 160
HEADING = re.compile(r"^#{1,4} .+$", re.MULTILINE)


def summary(kind: str, text: str, size: int | None = None) -> str:
    """The size of a text, its headings or keys, and how it begins; with a size in bytes, of a text that was cut off."""
    number = text.count("\n") + 1
    length = f"{len(text):,} characters, {number:,} lines" if size is None else f"{size:,} bytes"
    said = [f"Not loaded whole: {length}. Read the part that you need."]
    if size is not None and text:
        said[0] += f" Of the first {number:,} lines:"
    said += _keys(text) if kind == "json" else _headings(text)
    if len(said) == 1 and text:
        said.append("It begins:")
        said += [f"  {one_line(line, WIDTH)}" for line in text[: LINES * 1_000].splitlines()[:LINES]]
    return "\n".join(said) + "\n"


def _headings(text: str) -> list[str]:
    found = HEADING.findall(text)
    more = [f"  and {len(found) - HEADINGS:,} more"] if len(found) > HEADINGS else []
    return ["Its headings:", *(f"  {one_line(line, WIDTH)}" for line in found[:HEADINGS]), *more] if found else []


def _keys(text: str) -> list[str]:
    try:
        value = {} if is_dense(text) else msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    if not isinstance(value, dict) or not value:
        return []
    names = ", ".join(one_line(name, 40) for name in list(value)[:KEYS])
    return [f"Its keys: {names}{' and more' if len(value) > KEYS else ''}"]
