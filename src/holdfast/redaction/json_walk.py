"""Collection of all strings in a decoded value, including those in strings that are JSON, to scan them in one pass."""

from __future__ import annotations

from types import NoneType
from typing import Any

import msgspec

from holdfast.core.formats.json_limits import is_dense
from holdfast.redaction.false_positives import SHORTEST
from holdfast.redaction.json_keys import is_command, is_told, items_of, members_of
from holdfast.redaction.secret_names import is_keyed, is_secretive

DEEPEST = 4  # levels of JSON inside strings
NESTED = 100  # levels of lists and objects; deeper JSON is not decoded, since none is written on purpose
BEGINNINGS = '{[" \t\r\n'
PLAIN = (int, float, NoneType)  # values without strings
OPENING, CLOSING = ("{", "[", '"'), ("}", "]", '"')


def gather(value: Any, texts: list[str]) -> bool:
    """Collect all strings of a value, and of strings that are JSON. True as soon as a member is secret by its name."""
    harmless = {""}  # cache of names that are not secret: most members share a few names
    inner = [("", value)]
    for depth in reversed(range(DEEPEST + 1)):
        left, inner = inner, []
        while left:
            name, value = left.pop()
            if isinstance(value, str):
                if len(value) < SHORTEST:
                    continue
                texts.append(value)
                if name not in harmless:
                    if is_told(name, value):
                        return True
                    if not is_secretive(name) and not is_keyed(name):
                        harmless.add(name)
                if depth and value[0] in BEGINNINGS and (found := value_in(value)) is not None:
                    inner.append(("", found))
            elif isinstance(value, dict):
                texts += value
                left += [member for member in members_of(value, name) if not isinstance(member[1], PLAIN)]
            elif isinstance(value, list | tuple):
                left += items_of(value, name)
                texts += [" ".join(value)] if is_command(value) else []
    return False


def value_in(text: str) -> Any:
    """The decoded value of a string that is JSON; None for any other."""
    bare = text.strip()
    if not bare.startswith(OPENING) or not bare.endswith(CLOSING) or is_dense(bare):
        return None
    try:
        value = msgspec.json.decode(bare)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None if bare.count("{") + bare.count("[") > NESTED and _is_deeper(value, NESTED) else value


def _is_deeper(value: Any, depth: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth == 0 or any(_is_deeper(item, depth - 1) for item in inside)
