"""Small edits of a JSON text that leave every other byte of it as it was.

The text is checked as a whole first; then members and items are put in and taken out by splicing, in the indentation
and with the line ends that the text has. A byte order mark stays where it is.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

TOKEN = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]+'
HALF = re.compile("[\ud800-\udfff]")
DEPTH = 100
MARK = "\ufeff"
PIECE = 1 << 20  # characters

Path = Sequence[str | int]


class NotJson(ValueError):
    """The text is not JSON, or is nested too deeply."""


class Node(NamedTuple):
    """A value in the text, from its first character to behind its last."""

    start: int
    end: int
    opening: str  # `{`, `[`, or nothing for a plain value
    parts: list[Part]


class Part(NamedTuple):
    """A member of an object or an item of an array."""

    name: str | int
    start: int  # of the key, where there is one
    value: Node


class Splice(NamedTuple):
    """What comes in the place of a stretch of the text."""

    start: int
    end: int
    text: str


def with_splices(text: str, splices: list[Splice]) -> bytes:
    """The text with all of them, which do not overlap. Bytes are joined: a text may take four times as much."""
    pieces, at = [], 0
    for splice in [*sorted(splices), Splice(len(text), len(text), "")]:
        pieces += [text[first : min(first + PIECE, splice.start)].encode() for first in range(at, splice.start, PIECE)]
        pieces.append(splice.text.encode())
        at = splice.end
    return b"".join(pieces)


def parse(text: str) -> Any:
    """The value that a JSON text stands for."""
    try:
        value = json.loads(text.removeprefix(MARK), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error) if isinstance(error, ValueError) else "it is nested too deeply") from error
    if is_deeper(value):
        raise NotJson("it is nested too deeply")
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def is_deeper(value: object, depth: int = DEPTH) -> bool:
    """Whether objects and arrays lie more than `depth` deep in each other."""
    level = [value]
    while level and depth:
        depth -= 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if type(inner) in (dict, list)
        ]
    return bool(level)


def add(text: str, path: Path, value: object, name: str | None = None) -> str:
    """Put a value behind the last one in the object or array at `path`; into an object with its name."""
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
    """Take the member or item at `path` out, with its comma. What becomes empty is written as `{}` or `[]`."""
    node = _at(text, path[:-1])
    number, part = next((n, part) for n, part in reversed(list(enumerate(node.parts))) if part.name == path[-1])
    if len(node.parts) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if number:
        return text[: node.parts[number - 1].value.end] + text[part.value.end :]
    return text[: part.start] + text[node.parts[1].start :]


def _at(text: str, path: Path) -> Node:
    node = _tree(text)
    for step in path:  # of several members with one name the last one counts, for every reader of JSON
        node = next(part.value for part in reversed(node.parts) if part.name == step)
    return node


@functools.cache
def _token() -> re.Pattern[str]:
    return re.compile(TOKEN, re.DOTALL)  # few texts are edited inside, and it takes its time to be made


@functools.lru_cache(maxsize=1)  # one edit asks for it several times
def _tree(text: str) -> Node:
    """Where everything stands in a text that is known to be JSON."""
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
    """Whether what is in a node stands on lines of its own; an empty one does as the rest of the text does."""
    if node.parts:
        return "\n" in text[node.start : node.parts[0].start]
    return "\n" in text.strip() or not _tree(text).parts


def is_airy(text: str) -> bool:
    """Whether a text on one line has spaces behind its commas and colons."""
    return re.search(r'":\s', text) is not None or '":' not in text


def _indents(text: str, node: Node) -> tuple[str, str]:
    """The white space before what is in a node, and before its closing bracket."""
    outer = margin(text, node.start)
    if node.parts and _is_spread(text, node):
        return margin(text, node.parts[0].start), outer
    return outer + _unit(text), outer


def margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(MARK)
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """What one step of indentation is in this text."""
    root = _tree(text)
    unit = margin(text, root.parts[0].start) if root.parts and _is_spread(text, root) else ""
    return unit or "  "


def newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


class Form(NamedTuple):
    """How a text is written: one step of indentation, what ends a line, whether spaces follow commas and colons."""

    unit: str
    line: str
    airy: bool


def form_of(text: str, unit: str) -> Form:
    return Form(unit, newline(text), is_airy(text))


def rendered(value: object, before: str | None, form: Form) -> str:
    """A value in the form of the text around it: on lines that begin with `before`, or on one line without it."""
    if before is None:
        return _dumped(value, (", ", ": ") if form.airy else (",", ":"))
    return _spread(value, form.unit, form.line + before)


def _dumped(value: object, separators: tuple[str, str] = (", ", ": ")) -> str:
    """A value on one line. Half a pair of surrogates can stand in no file but as an escape."""
    line = _encoder(separators).encode(value)
    return line if line.isascii() else HALF.sub(lambda found: f"\\u{ord(found.group()):04x}", line)


@functools.cache
def _encoder(separators: tuple[str, str]) -> json.JSONEncoder:
    """Made once: `json.dumps` makes one for every value."""
    return json.JSONEncoder(ensure_ascii=False, separators=separators)


def _spread(value: object, unit: str, line: str) -> str:
    """A value on several lines; a list of plain values stays on one."""
    if isinstance(value, dict) and value:
        inside = [f"{_dumped(name)}: {_spread(item, unit, line + unit)}" for name, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        inside = [_spread(item, unit, line + unit) for item in value]
    else:
        return _dumped(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{line}{unit}" + f",{line}{unit}".join(inside) + f"{line}{closing}"
