"""Salvage of broken JSON: readable members, and the whole entries of lists."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from holdfast.core.formats.json_limits import is_dense

MEMBER = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:\s*')
MOST = 100_000  # positions that are tried
PATIENCE = 5  # passes over the text, in total


def salvage(text: str, names: tuple[str, ...], inner: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the readable members of these names, each at its first occurrence.

    Members nested in a whole value are skipped. After a broken value the nesting is unknown, so names in `inner`, which
    entries of lists have too, are no longer accepted.
    """
    return {} if is_dense(text) else _Reading(text).members(names, inner)


class _Reading:
    """One pass over a broken text, with a bound on its total work."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = PATIENCE * (len(text) + 100_000)  # characters that may still be scanned

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
        """Return the value that starts here, and its end if it is whole."""
        end = self._end(start)
        if end is not None:
            try:
                return msgspec.json.decode(self.text[start:end].encode("utf-8", "replace")), end
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass
        return (self._entries(start + 1), None) if self.text[start : start + 1] == "[" else (None, None)

    def _entries(self, at: int) -> list[Any]:
        """Return the whole entries of a list that is cut off or broken inside."""
        text, found = self.text, list[Any]()
        while len(found) < MOST:
            at = BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string, too
            end = self._end(at) if at < len(text) and text[at] != "]" else None
            if end is None:
                return found
            try:
                found.append(msgspec.json.decode(text[at:end].encode("utf-8", "replace")))
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass  # this entry is broken; the next may be whole
            at = end
        return found

    def _end(self, start: int) -> int | None:
        """Return the end of the value that starts here; None if it has none."""
        first = self.text[start : start + 1]
        if first not in ("{", "["):
            found = (STRING if first == '"' else PLAIN).match(self.text, start)
            return found.end() if found else None
        depth = 0
        for token in TOKEN.finditer(self.text, start, start + max(0, self.left)):
            mark = token[0]
            if mark == '"':  # never closed
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
