"""Edits of a JSON text that leave every other byte unchanged.

The text is validated first; then members and items are inserted and removed by splicing, in its own indentation and
line ends. A byte order mark stays.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from holdfast.core.formats.json_limits import is_deeper

TOKEN = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]+'
HALF = re.compile("[\ud800-\udfff]")
MARK = "\ufeff"
PIECE = 1 << 20  # characters

Path = Sequence[str | int]


class NotJson(ValueError):
    """Not valid JSON, or nested too deeply."""


class Node(NamedTuple):
    """A value in the text, by its offsets."""

    start: int
    end: int
    opening: str  # `{`, `[`, or empty for a scalar
    parts: list[Part]


class Part(NamedTuple):
    name: str | int
    start: int  # of the key, if any
    value: Node


class Splice(NamedTuple):
    start: int
    end: int
    text: str


def with_splices(text: str, splices: list[Splice]) -> bytes:
    """Apply splices, which must not overlap. Encoded in pieces: one string may take four times the memory."""
    pieces, at = [], 0
    for splice in [*sorted(splices), Splice(len(text), len(text), "")]:
        pieces += [text[first : min(first + PIECE, splice.start)].encode() for first in range(at, splice.start, PIECE)]
        pieces.append(splice.text.encode())
        at = splice.end
    return b"".join(pieces)


def parse(text: str) -> Any:
    try:
        value = json.loads(text.removeprefix(MARK), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error) if isinstance(error, ValueError) else "it is nested too deeply") from error
    if is_deeper(value):
        raise NotJson("it is nested too deeply")
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def add(text: str, path: Path, value: object, name: str | None = None) -> str:
    """Append a value to the object or array at `path`; in an object, under `name`."""
    node = _at(text, path)
    key = "" if name is None else json.dumps(name) + (": " if is_airy(text) else ":")
    deep = _is_spread(text, node)
    inner, outer = _indents(text, node)
    written = key + rendered(value, inner if deep else None, form_of(text, _unit(text)))
    if node.parts:
        at = node.parts[-1].value.end
        gap = newline(text) + inner if deep else " " if is_airy(text) else ""
        return f"{text[:at]},{gap}{written}{text[at:]}"
    line = newline(text)
    filled = f"{line}{inner}{written}{line}{outer}" if deep else written
    return f"{text[: node.start + 1]}{filled}{text[node.end - 1 :]}"


def remove(text: str, path: Path) -> str:
    """Remove the member or item at `path` with its comma. An emptied container becomes `{}` or `[]`."""
    node = _at(text, path[:-1])
    number, part = next((n, part) for n, part in reversed(list(enumerate(node.parts))) if part.name == path[-1])
    if len(node.parts) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if number:
        return text[: node.parts[number - 1].value.end] + text[part.value.end :]
    return text[: part.start] + text[node.parts[1].start :]


def _at(text: str, path: Path) -> Node:
    node = _tree(text)
    for step in path:  # of duplicate keys the last one counts, as in every JSON reader
        node = next(part.value for part in reversed(node.parts) if part.name == step)
    return node


@functools.cache
def _token() -> re.Pattern[str]:
    return re.compile(TOKEN, re.DOTALL)  # compiled lazily: rarely needed, and slow


@functools.lru_cache(maxsize=1)  # one edit calls it several times
def _tree(text: str) -> Node:
    """Return the offsets of all values in a valid JSON text."""
    tokens = [(found.group(), found.start()) for found in _token().finditer(text, text.startswith(MARK))]
    place = 0

    def value() -> Node:
        nonlocal place
        token, start = tokens[place]
        place += 1
        if token not in "{[":
            return Node(start, start + len(token), "", [])
        parts: list[Part] = []
        while tokens[place][0] not in "}]":
            if tokens[place][0] == ",":
                place += 1
            name: str | int = len(parts)
            begin = tokens[place][1]
            if token == "{":
                name = str(json.loads(tokens[place][0]))
                place += 2
            parts.append(Part(name, begin, value()))
        place += 1
        return Node(start, tokens[place - 1][1] + 1, token, parts)

    return value()


def _is_spread(text: str, node: Node) -> bool:
    """Return True if the content of a node is on lines of its own; an empty node follows the rest of the text."""
    if node.parts:
        return "\n" in text[node.start : node.parts[0].start]
    return "\n" in text.strip() or not _tree(text).parts


def is_airy(text: str) -> bool:
    """Return True if a text on one line has spaces after its commas and colons."""
    return re.search(r'":\s', text) is not None or '":' not in text


def _indents(text: str, node: Node) -> tuple[str, str]:
    """Return the indentation of a node's content, and of its closing bracket."""
    outer = margin(text, node.start)
    if node.parts and _is_spread(text, node):
        return margin(text, node.parts[0].start), outer
    return outer + _unit(text), outer


def margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(MARK)
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """Return one step of this text's indentation."""
    root = _tree(text)
    unit = margin(text, root.parts[0].start) if root.parts and _is_spread(text, root) else ""
    return unit or "  "


def newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


class Form(NamedTuple):
    """The style of a text: indentation step, line end, spaces after commas and colons."""

    unit: str
    line: str
    airy: bool


def form_of(text: str, unit: str) -> Form:
    return Form(unit, newline(text), is_airy(text))


def rendered(value: object, before: str | None, form: Form) -> str:
    """Render a value in the style of the surrounding text: on lines indented by `before`, or on one line."""
    if before is None:
        return _dumped(value, (", ", ": ") if form.airy else (",", ":"))
    return _spread(value, form.unit, form.line + before)


def _dumped(value: object, separators: tuple[str, str] = (", ", ": ")) -> str:
    """Render a value on one line. A lone surrogate can be written only as an escape."""
    line = _encoder(separators).encode(value)
    return line if line.isascii() else HALF.sub(lambda found: f"\\u{ord(found.group()):04x}", line)


@functools.cache
def _encoder(separators: tuple[str, str]) -> json.JSONEncoder:
    """Cache: `json.dumps` creates an encoder per value."""
    return json.JSONEncoder(ensure_ascii=False, separators=separators)


def _spread(value: object, unit: str, line: str) -> str:
    """Render a value on several lines; a list of scalars stays on one."""
    if isinstance(value, dict) and value:
        inside = [f"{_dumped(name)}: {_spread(item, unit, line + unit)}" for name, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        inside = [_spread(item, unit, line + unit) for item in value]
    else:
        return _dumped(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{line}{unit}" + f",{line}{unit}".join(inside) + f"{line}{closing}"
