"""What can still be read in a JSON text that is broken: its members, and of a list the entries that are whole."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from holdfast.core.formats.json_limits import is_dense

MEMBER = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:\s*')
MOST = 100_000  # places that are tried
PATIENCE = 5  # times that a text may be gone through on the whole


def salvage(text: str, names: tuple[str, ...], inner: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The members of these names that can be read, each where it stands first.

    What lies inside a whole value is no member. Behind a broken one nobody knows how deep a name stands: those of
    `inner`, which entries of lists have too, are not believed there.
    """
    return {} if is_dense(text) else _Reading(text).members(names, inner)


class _Reading:
    """A look at a broken text. It ends, also where thousands of values begin and none of them does."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = PATIENCE * (len(text) + 100_000)  # characters that are looked at

    def members(self, names: tuple[str, ...], inner: frozenset[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        at, is_sure = 0, True
        for _ in range(MOST):
            member = MEMBER.search(self.text, at)
            if member is None:
                break
            name, at = member[1], member.end()
            value, end = self._value(at)
            if (end is not None or value) and name in names and name not in found and (is_sure or name not in inner):
                found[name] = value
            is_sure = is_sure and end is not None
            at = at if end is None else end
        return found

    def _value(self, start: int) -> tuple[Any, int | None]:
        """The value that begins here, and where it ends if all of it is there."""
        end = self._end(start)
        if end is not None:
            try:
                return msgspec.json.decode(self.text[start:end].encode("utf-8", "replace")), end
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass
        return (self._entries(start + 1), None) if self.text[start : start + 1] == "[" else (None, None)

    def _entries(self, at: int) -> list[Any]:
        """The entries of a list that is broken off or broken inside."""
        text, found = self.text, list[Any]()
        while len(found) < MOST:
            at = BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it fits nothing as well
            end = self._end(at) if at < len(text) and text[at] != "]" else None
            if end is None:
                return found
            try:
                found.append(msgspec.json.decode(text[at:end].encode("utf-8", "replace")))
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass  # this one is broken; perhaps the next is not
            at = end
        return found

    def _end(self, start: int) -> int | None:
        """Where the value that begins here ends; None where it does not."""
        first = self.text[start : start + 1]
        if first not in ("{", "["):
            found = (STRING if first == '"' else PLAIN).match(self.text, start)
            return found.end() if found else None
        depth = 0
        for token in TOKEN.finditer(self.text, start, start + max(0, self.left)):
            mark = token[0]
            if mark == '"':  # it is never closed
                break
            depth += (mark in "{[") - (mark in "}]") if len(mark) == 1 else 0
            if depth == 0:
                self.left -= token.end() - start
                return token.end()
        else:
            token = None
        self.left -= (token.end() if token else len(self.text)) - start
        return None


BETWEEN = re.compile(r"[ \t\r\n,]*")
PLAIN = re.compile(r"-?[0-9.eE+-]+|true|false|null")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
TOKEN = re.compile(r'[{}\[\]]|"(?:[^"\\\n]|\\.)*+"|"')
