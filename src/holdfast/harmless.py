"""What is no secret although it stands where one would: places, variables, numbers, what is yet to be filled in."""

from __future__ import annotations

import math
from collections import Counter

DIGITS = b"0123456789"
LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDLY = b"-_."
SEPARATED = bytes(byte if byte in LETTERS + DIGITS else 32 for byte in range(256))
FILLED_IN = (b"<", b"{", b"%", b"[", b"*")
AFTER_NAMES = b"/.:$[-=+|?("  # what follows a variable in a path, a template or code
PLACEHOLDERS = (b"undefined", b"required", b"optional", b"password", b"passwd", b"xxxxxx", b"xxxxxxxx", b"...")


def is_harmless(value: bytes) -> bool:
    return is_elsewhere(value) or value[:1] in FILLED_IN or value.isdigit() or value.lower() in PLACEHOLDERS


def is_elsewhere(value: bytes) -> bool:
    """Whether a value is the place of a secret, or the variable that holds it."""
    return is_place(value) or _is_variable(value)


def is_place(value: bytes) -> bool:
    """Whether a value is a path. Base64 and passwords may begin with a slash, too, but rarely hold a word."""
    if not value.startswith(b"/"):
        return value.startswith((b"~/", b"./", b"../"))
    words = value.translate(SEPARATED).split()
    if any(len(word) > 2 and word.isalpha() and word[1:].islower() for word in words):
        return True
    is_name = not value.translate(None, LETTERS + DIGITS + WORDLY + b"/")
    return is_name and not is_random(value.replace(b"/", b""))


def _is_variable(value: bytes) -> bool:
    """Whether it is `$NAME`, `${…}`, `$(…)` or begins as `$HOME/`: a password may begin with `$`, too."""
    rest = value[1:].lstrip(LETTERS + DIGITS + b"_")
    is_name = value[1:2].isalpha() or value[1:2] == b"_"
    return value[:1] == b"$" and (value[1:2] in (b"{", b"(", b"[") or (is_name and rest[:1] in AFTER_NAMES))


def is_random(value: bytes) -> bool:
    """Whether a word is made of chance: of all kinds of characters, and no hash, id or path."""
    if value.count(b"/") > 1 or value.count(b"-") > 3 or value.count(b"_") > 3:
        return False
    kinds = (LETTERS[:26], LETTERS[26:], DIGITS)
    if min(sum(byte in kind for byte in value) for kind in kinds) < 2:
        return False
    times = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in times) >= 3.9
