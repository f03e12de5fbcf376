"""Which members of a decoded value are secret by their names: `password`, a header, a `value` beside such a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.harmless import SHORTEST, WORDLY, is_elsewhere, is_harmless, is_number
from holdfast.secretive import is_header, is_secretive, matches

NAMING = ("name", "Name", "key", "Key")  # members that give their neighbour `value` a name
LONGEST_TIME = 40  # of what may be one, in characters
TIME = r"\A\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\z"


def members_of(owner: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """The members of an object with their names; a `value` has the name that stands beside it."""
    if "value" not in owner and "Value" not in owner:
        return owner.items()
    name = next((owner[other] for other in NAMING if isinstance(owner.get(other), str)), "value")
    return [(name if key in ("value", "Value") else key, item) for key, item in owner.items()]


def items_of(items: Iterable[Any], name: str) -> Iterator[tuple[str, Any]]:
    """The items of a list, which have its name, or that of a header before them: Node lists both in one row.

    A text that is a word or prose has none, for lists say which secrets there are, and complain of them.
    """
    before = ""
    for item in items:
        own = before if before and is_header(before) else name
        yield ("" if own and isinstance(item, str) and _is_prose(item, is_header(own)) else own), item
        before = item if isinstance(item, str) else ""


def _is_prose(text: str, is_sent: bool) -> bool:
    return (" " in text and not is_sent) or all(letter.isalpha() or letter in "-_. " for letter in text)


def is_told(name: str, value: str) -> bool:
    """Whether a text is secret by its name, and not told that it is hidden, or where it lies."""
    if len(value) < SHORTEST or not is_secretive(name) or "[redacted " in value:
        return False
    data = value.encode("utf-8", "replace")
    if name[-6:].lower() == "cookie":  # a package is called so, too, and has a version
        return b"=" in data and data.partition(b"=")[0].translate(None, WORDLY).isalnum()
    if name[-13:].lower() == "authorization":
        return not is_harmless(data.partition(b" ")[2].lstrip() or data)
    if len(value) < LONGEST_TIME and matches(TIME, value):  # when a file of that name was touched, or when a token ends
        return False
    return not data.startswith(b"<") and not is_number(data) and not is_elsewhere(data)
