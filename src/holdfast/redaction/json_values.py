"""Strings of a decoded JSON value, and the members that are secret by name: `password`, a header, a named `value`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import Any

import msgspec

from holdfast.core.formats.json_limits import DEPTH, is_deeper, is_dense
from holdfast.redaction.classifiers import (
    SHORTEST,
    WORDLY,
    is_chancy,
    is_elsewhere,
    is_harmless,
    is_header,
    is_keyed,
    is_number,
    is_public,
    is_secretive,
    matches,
)

DEEPEST = 4  # levels of JSON inside strings
BEGINNINGS = '{[" \t\r\n'
PLAIN = (int, float, NoneType)  # values without strings
OPENING, CLOSING = ("{", "[", '"'), ("}", "]", '"')
NAMING = ("name", "Name", "key", "Key")  # members that name the `value` of the same object
ABOUT = ("id", "name", "type", "kind", "version", "user", "username", "email", "description", "created", "updated")
MOST_DASHES = 3  # in a secret; an id has more
MOST_WORDS, LONGEST_COMMAND = 1000, 1 << 16  # words and characters of a command line
LONGEST_TIME = 40  # characters of a timestamp
ENOUGH = 1 << 16  # characters that show if a value is a number, a path or a template variable
TIME = r"\A\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\z"


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
                    if is_secret_member(name, value):
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
    return None if bare.count("{") + bare.count("[") > DEPTH and is_deeper(value) else value


def members_of(owner: dict[str, Any], name: str = "") -> Iterable[tuple[str, Any]]:
    """The members of an object with their names; a `value` has the name given next to it, or that of the object.

    Members of an object called `secrets` or `tokens` have its name if their values look like secrets.
    """
    if name and is_secretive(name):
        return [(_inherited(key, item, name), item) for key, item in _valued(owner, name)]
    return _valued(owner, "value")


def _valued(owner: dict[str, Any], name: str) -> Iterable[tuple[str, Any]]:
    if "value" not in owner and "Value" not in owner:
        return owner.items()
    name = next((owner[other] for other in NAMING if isinstance(owner.get(other), str)), name)
    return [(name if key in ("value", "Value") else key, item) for key, item in owner.items()]


def _inherited(key: str, item: Any, name: str) -> str:
    is_one_of_many = name[-1:] in "sS" and isinstance(item, str) and key.lower() not in ABOUT
    return name if is_one_of_many and _is_chosen(item) else key


def _is_chosen(text: str) -> bool:
    """True if a word looks like a password or random text: letters and digits, and no id, date or address."""
    has_both = any(letter.isalpha() for letter in text) and any(letter.isdigit() for letter in text)
    return has_both and not any(sign in text for sign in " :/_") and text.count("-") < MOST_DASHES


def items_of(items: Iterable[Any], name: str) -> Iterator[tuple[str, Any]]:
    """The items of a list with their names: that of the list, or the header before the item, as in Node's flat lists.

    The same applies to an option of a command line. An item that is a word or prose has no name, since lists also name
    the secrets that exist, and hold error messages about them.
    """
    before = ""
    for item in items:
        is_value = _is_option(before) and not (isinstance(item, str) and item.startswith("-"))
        # safeguard: secret-behind-header
        own = before if before and is_header(before) else before.lstrip("-") if is_value else name
        yield ("" if own and isinstance(item, str) and _is_prose(item, is_value or is_header(own)) else own), item
        before = item if isinstance(item, str) else ""


def is_command(items: Sequence[Any]) -> bool:
    """True if a list is a command line, in which a secret may be recognisable only from the words around it."""
    return (
        1 < len(items) < MOST_WORDS
        and all(isinstance(item, str) for item in items)
        and any(map(_is_option, items))
        and sum(map(len, items)) < LONGEST_COMMAND
    )


def _is_option(word: str) -> bool:
    return word.startswith("-") and word.lstrip("-")[:1].isalpha() and " " not in word


def _is_prose(text: str, is_sent: bool) -> bool:
    return (" " in text and not is_sent) or all(letter.isalpha() or letter in "-_. " for letter in text)


def is_secret_member(name: str, value: str) -> bool:
    """True if a string is secret by its name, and is neither a placeholder nor a path or variable."""
    if len(value) < SHORTEST or "[redacted " in value:
        return False
    if not is_secretive(name):
        return is_keyed(name) and is_chancy(value[:ENOUGH].encode("utf-8", "replace"))
    data = value[:ENOUGH].encode("utf-8", "replace")
    if is_public(data):
        return False
    if name[-6:].lower() == "cookie":  # a package has this name, too, and its value is a version
        return b"=" in data and data.partition(b"=")[0].translate(None, WORDLY).isalnum()
    if name[-13:].lower() == "authorization":
        return not is_harmless(data.partition(b" ")[2].lstrip() or data)
    if len(value) < LONGEST_TIME and matches(TIME, value):  # modification time of such a file, or expiry of a token
        return False
    return not data.startswith(b"<") and not is_number(data) and not is_elsewhere(data)
