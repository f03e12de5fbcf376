"""What can still be read in a JSON text that is broken: its members, and of a list the entries that are whole."""

from __future__ import annotations

import re
from typing import Any

import msgspec

MEMBER = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:\s*')
MOST = 100_000  # places that are tried


def salvage(text: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The members of these names that can be read, each where it stands first."""
    found: dict[str, Any] = {}
    for number, member in enumerate(MEMBER.finditer(text)):
        if number > MOST:
            break
        name = member[1]
        if name not in names or name in found:
            continue
        value, is_whole = _value(text, member.end())
        if is_whole or value:
            found[name] = value
    return found


def _value(text: str, start: int) -> tuple[Any, bool]:
    """The value that begins here, and whether all of it is there."""
    end = _end(text, start)
    if end is not None:
        try:
            return msgspec.json.decode(text[start:end].encode("utf-8", "replace")), True
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
    return (_entries(text, start + 1), False) if text[start : start + 1] == "[" else (None, False)


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
