"""Known secrets: values of this environment and of the project's `.env` files, in each form that a text may have."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote, urlsplit

from holdfast.core.errors import HoldfastError
from holdfast.redaction.classifiers import (
    SHORTEST,
    is_elsewhere,
    is_number,
    is_place,
    is_public,
    is_random,
    is_secretive,
)
from holdfast.redaction.validators import is_odd
from holdfast.system import files

MOST_FILES, LARGEST_FILE, MOST_VALUES = 20, 1 << 20, 500  # limits for `.env` files; the environment has none
OWN_FILES = (".env", ".env.local")  # not committed by most projects
LONGEST = 8192  # characters of a value
LOST = "\ufffd"  # replaces undecodable bytes
PLAIN_WORD = 12  # letters; a shorter word is no secret
# Characters that the JSON encoders of Go, Gson and .NET escape as codes. Others put a backslash before a slash.
ESCAPED = [{ord(sign): f"\\u{ord(sign):04{case}}" for sign in signs} for signs, case in (("&<>", "x"), ("&<>='", "x"))]
ESCAPED += [{ord(sign): f"\\u{ord(sign):04X}" for sign in "&<>+'`"}]
SHORTEST_CHANCE, LONGEST_CHANCE = 16, 512  # characters of a value that is secret because it is random
ODD = 12  # characters of a part of it that cannot be a name
KEYS = re.compile(r"(?i)(?:\A|[_-])(?:key|salt)\Z")  # names whose values need fewer kinds of characters
BETWEEN_PARTS, SIGNS = re.compile(rb"[^0-9A-Za-z]+"), re.compile(r"[^\w.:/@=+,-]")
HASH = re.compile(r"[0-9A-Fa-f-]+")  # or a UUID
PART = r"(?:[A-Z]?[a-z]+|[A-Z]+)"
NAME = re.compile(rf"{PART}(?:[_-]{PART})*|[A-Z]?[a-z]{{3,}}[A-Z][a-z]+")  # with more capitals it would be random


def find_known(environ: Mapping[str, str], root: Path) -> frozenset[str]:
    """The secret values known here: those of variables with secret names, and passwords in URLs.

    The number of values from files is limited, separately from the environment: a hostile repository cannot displace
    the user's own secrets.
    """
    of_files = _in_turn([_in_file(path) for path in _env_files(root)])
    return frozenset(_secrets_in(environ.items())) | frozenset(islice(of_files, MOST_VALUES))


def _env_files(root: Path) -> list[Path]:
    """The `.env` files, those that are likely to be the user's own first."""
    try:
        return sorted(root.glob(".env*"), key=lambda path: (path.name not in OWN_FILES, path.name))[:MOST_FILES]
    except OSError:
        return []


def _in_file(path: Path) -> list[str]:
    """The secrets in a file, the longest first."""
    with contextlib.suppress(OSError, HoldfastError):
        text = (files.read(path, LARGEST_FILE) or b"").decode("utf-8", "replace")
        pairs = list(_assignments(text))
        odd = (value for name, value in islice(pairs, MOST_VALUES) if _is_kept_there(name, value))
        found = {*_secrets_in(pairs), *odd}  # safeguard: secrets-of-files
        return sorted(found, key=lambda value: (-len(value), value))
    return []


def _in_turn(found: list[list[str]]) -> Iterator[str]:
    """The values of all files in turn, so that no file uses up the limit."""
    # safeguard: values-of-every-file
    return (value for row in zip_longest(*found) for value in row if value is not None)


def forms(value: str) -> Iterator[str]:
    """A value as it is, and as encoded in JSON, HTML, URLs and base64, also as a part of a longer encoded text."""
    import base64
    import html
    import json  # lazy: few commands have known secrets

    yield from (value, quote(value, safe="", errors="replace"), quote(value, errors="replace"))
    yield quote_plus(value, errors="replace")
    yield html.escape(value)
    for escaped in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        for written in {escaped, escaped.replace("/", "\\/"), *(escaped.translate(signs) for signs in ESCAPED)}:
            yield from (written, json.dumps(written)[1:-1], json.dumps(written, ensure_ascii=False)[1:-1])
    data = value.encode("utf-8", "surrogateescape")
    for before in range(3):  # the alignment in base64 depends on the number of bytes before it
        whole = base64.b64encode(b"\0" * before + data)
        inner = whole[(0, 2, 3)[before] : len(whole) - (0, 3, 2)[(before + len(data)) % 3]].decode()
        yield from (inner, inner.translate({43: 45, 47: 95}))


def _secrets_in(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in pairs:
        if is_secretive(name):
            yield from [value] if _is_secret(value) else []
        elif "://" in value and "@" in value:
            with contextlib.suppress(ValueError):
                password = urlsplit(value).password or ""
                yield from (each for each in {password, unquote(password)} if _is_secret(each))


def _is_kept_there(name: str, value: str) -> bool:
    """True if a value of an `.env` file is a secret although its name does not tell so.

    It is if it is random. For a key or salt, fewer kinds of characters are enough, or signs that no name has.
    """
    if not SHORTEST_CHANCE <= len(value) <= LONGEST_CHANCE or " " in value or HASH.fullmatch(value):
        return False
    data = value.encode("utf-8", "surrogateescape")
    is_odd_somewhere = any(len(part) >= ODD and is_odd(part) for part in BETWEEN_PARTS.split(data))
    if KEYS.search(name) and "public" not in name.lower():
        is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        return (is_odd_somewhere or (is_mixed and SIGNS.search(value) is not None)) and _is_secret(value)
    return is_odd_somewhere and is_random(data) and _is_secret(value)


def _is_secret(value: str) -> bool:
    if not SHORTEST <= len(value) <= LONGEST or LOST in value:
        return False
    data = value.encode("utf-8", "surrogateescape")
    return not (
        is_public(data)
        or is_place(data)
        or is_number(data)
        or _is_named(value)
        or _is_filled_in_later(value)
        or _is_word(value)
    )


def _is_named(value: str) -> bool:
    """True for a reference to the variable that holds the secret, `$NAME` or `${…}`; `$ecretPass9` is a password."""
    name = value[1:].partition("/")[0]
    # safeguard: known-value-like-variable
    return is_elsewhere(value.encode("utf-8", "surrogateescape")) and (value[1:2] in "{([" or name.isupper())


def _is_filled_in_later(value: str) -> bool:
    """True for a template variable in brackets, or one repeated sign."""
    return value[0] + value[-1] in ("<>", "{}", "[]") or len(set(value)) == 1  # safeguard: known-value-in-brackets


def _is_word(value: str) -> bool:
    """True for a short word or a name of a few words, which would match in every text."""
    return len(value) < PLAIN_WORD and bool((value.isalpha() and value.islower()) or NAME.fullmatch(value))


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            yield from ((name.strip(), each) for each in _values(value.strip()))


def _values(text: str) -> set[str]:
    """Possible values of a line's variable: a comment may follow the value, and double quotes allow escapes."""
    bare = text.partition(" #")[0].rstrip()
    if text[:1] in ("'", '"'):
        inner = text[1:].replace('\\"', "\0").partition(text[0])[0].replace("\0", '\\"')
        return {inner, inner.replace('\\"', '"').replace("\\n", "\n"), text.strip("\"'")}
    return {bare, text.strip("\"'")}
