"""Texts in values, and values in texts that are JSON: all that is looked at for secrets, known before that is done."""

from __future__ import annotations

from types import NoneType
from typing import Any

import msgspec

from holdfast.core.formats.json_limits import is_dense
from holdfast.redaction.false_positives import SHORTEST
from holdfast.redaction.json_keys import is_command, is_told, items_of, members_of
from holdfast.redaction.secret_names import is_keyed, is_secretive

DEEPEST = 4  # texts inside texts
NESTED = 100  # lists and objects in each other; a text that holds more is no JSON that anybody wrote
BEGINNINGS = '{[" \t\r\n'
PLAIN = (int, float, NoneType)  # values that are no text and hold none
OPENING, CLOSING = ("{", "[", '"'), ("}", "]", '"')


def gather(value: Any, texts: list[str]) -> bool:
    """All texts of a value, and of those that are JSON; True as soon as a member's name says that it is secret."""
    harmless = {""}  # names that promise nothing: most members have one of a few
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
    """What a text that is JSON holds; None for any other."""
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
