"""What can still be read in a JSON text that is broken: its members, and of a list the entries that are whole."""

from __future__ import annotations

import re
from typing import Any

import msgspec

MEMBER = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:\s*')
MOST = 100_000  # places that are tried


def salvage(text: str, names: tuple[str, ...], inner: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The members of these names that can be read, each where it stands first.

    What lies inside a whole value is no member. Behind a broken one nobody knows how deep a name stands: those of
    `inner`, which entries of lists have too, are not believed there.
    """
    found: dict[str, Any] = {}
    at, is_sure = 0, True
    for _ in range(MOST):
        member = MEMBER.search(text, at)
        if member is None:
            break
        name, at = member[1], member.end()
        value, end = _value(text, at)
        if (end is not None or value) and name in names and name not in found and (is_sure or name not in inner):
            found[name] = value
        is_sure = is_sure and end is not None
        at = at if end is None else end
    return found


def _value(text: str, start: int) -> tuple[Any, int | None]:
    """The value that begins here, and where it ends if all of it is there."""
    end = _end(text, start)
    if end is not None:
        try:
            return msgspec.json.decode(text[start:end].encode("utf-8", "replace")), end
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    return (_entries(text, start + 1), None) if text[start : start + 1] == "[" else (None, None)


def _entries(text: str, at: int) -> list[Any]:
    """The entries of a list that is broken off or broken inside."""
    found: list[Any] = []
    while len(found) < MOST:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        end = _end(text, at) if at < len(text) and text[at] != "]" else None
        if end is None:
            return found
        try:
            found.append(msgspec.json.decode(text[at:end].encode("utf-8", "replace")))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass  # this one is broken; perhaps the next is not
        at = end
    return found


PLAIN = re.compile(r"-?[0-9.eE+-]+|true|false|null")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def _end(text: str, start: int) -> int | None:
    """Where the value that begins here ends; None where it does not."""
    first = text[start : start + 1]
    if first not in ("{", "["):
        found = (STRING if first == '"' else PLAIN).match(text, start)
        return found.end() if found else None
    depth, at = 0, start
    while at < len(text):
        letter = text[at]
        if letter == '"':
            string = STRING.match(text, at)
            if string is None:
                return None
            at = string.end()
            continue
        depth += (letter in "{[") - (letter in "}]")
        at += 1
        if depth == 0:
            return at
    return None
