"""What is no secret although it stands where one would: places, variables, numbers, what is yet to be filled in."""

from __future__ import annotations

import math
import re
from collections import Counter

from holdfast.redaction.secret_names import is_secretive

SHORTEST = 8  # characters of a text that can be a secret
SHORTEST_CHANCE, LONG_PART = 14, 10  # of a value that chance has made, and of a part of it
DIGITS = b"0123456789"
HEX = b"0123456789abcdefABCDEF"
LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDLY = b"-_."
SEPARATED = bytes(byte if byte in LETTERS + DIGITS else 32 for byte in range(256))
NUMERIC = DIGITS + b"_.,/~kM%"  # how people and programs write how many tokens were used, and of how many
TYPES = (b"int", b"uint", b"bigint", b"biguint", b"float", b"complex", b"bytes")  # with their bits behind them
MOST_BITS = 3  # digits of them
LONGEST_ENDING = 5  # of the name of a file
CLOSED = {b"@": b"@", b"<": b">", b"{": b"}", b"[": b"]", b"%": b"%", b"(": b")"}  # around what is yet to be filled in
TO_FILL_IN = (b"your", b"my_", b"my-", b"insert", b"replace", b"enter")  # with what a value begins that is none yet
FORMATS: tuple[bytes, ...] = (b"%s", b"%d", b"%v", b"%(", b"%{", b"#{")
FORMATS += (b"/^[", b"[0-9", b"[A-Z", b"[a-z", b"(?:", b"^[")  # and what a pattern begins with
SHUFFLED = re.compile(rb"[A-Z]{2,}|(?<![a-z])[a-z](?![a-z])")  # as in an acronym, and in `ById`
MOST_ACRONYMS = 4  # of them in a name, one less
AFTER_NAMES = b"/.:$[-=+|?("  # what follows a variable in a path, a template or code
PLACEHOLDERS: tuple[bytes, ...] = (
    b"undefined",
    b"required",
    b"optional",
    b"password",
    b"passwd",
    b"xxxxxx",
    b"xxxxxxxx",
    b"...",
)
PLACEHOLDERS += (b"string", b"changeme", b"change_me", b"change-me", b"changeit", b"!vault", b"unchanged", b"none")
PLACEHOLDERS += (b"include", b"same-origin")  # which credentials a browser sends along


def is_harmless(value: bytes) -> bool:
    return is_elsewhere(value) or is_filled_in(value) or is_number(value) or value.lower() in PLACEHOLDERS


def is_filled_in(value: bytes) -> bool:
    """Whether it is yet to be: it stands in brackets, is a format, or one sign over and over. `<Abc123!` is none."""
    closing = CLOSED.get(value[:1], b"")
    is_closed = bool(closing) and len(value) > 1 and value.endswith(closing)  # safeguard: password-in-brackets
    is_colour = value[:1] == b"#" and len(value) in (4, 7, 9) and not value[1:].translate(None, HEX)
    is_same = is_colour or not value.strip(b"*") or not value.strip(b"x") or not value.strip(b".")
    return is_closed or is_same or value.startswith(FORMATS) or _is_asked_for(value)


def _is_asked_for(value: bytes) -> bool:
    """Whether it is `your_api_key_here`: words, and no digit."""
    is_worded = value[:8].lower().startswith(TO_FILL_IN) or value[-4:].lower() == b"here"
    return is_worded and not value.translate(None, WORDLY).strip(LETTERS)


def is_named(value: bytes) -> bool:
    """Whether it is a variable as a whole, and called as people call one: `$tr0ngPass9` is a password."""
    name = value[1:]
    if value[:1] != b"$" or name[:1] in (b"{", b"(", b"["):
        return value[:1] == b"$"
    is_word = not name.translate(None, LETTERS + DIGITS + b"_")
    stem = name.rstrip(DIGITS).replace(b"_", b"")
    is_plain = not stem or name.isupper() or (stem.isalpha() and stem.islower())
    return is_word and (is_plain or is_secretive(name.decode()))  # safeguard: password-like-variable


def is_number(value: bytes) -> bool:
    return value.lstrip(b"~")[:1].isdigit() and not value.translate(None, NUMERIC)


def is_code(value: bytes) -> bool:
    """Whether what stands behind a name, without quotes, is a type or the attribute that has the secret."""
    names = value.split(b".")
    is_path = len(names) > 1 and all(_is_identifier(name) for name in names)
    return (is_path and is_secretive(names[-1].decode())) or _is_type(value)


def _is_identifier(name: bytes) -> bool:
    return name[:1].strip(DIGITS) != b"" and not name.translate(None, LETTERS + DIGITS + b"_")


def _is_type(value: bytes) -> bool:
    """Whether it is `uint64`, `Uint8Array` or such a one joined to words, as in `Uint8Array|null`."""
    left = [word for word in value.split(b"|") if not _is_primitive(word.lower())]
    return b"|".join(left) != value and all(word.isalpha() for word in left)


def _is_primitive(word: bytes) -> bool:
    sized = word.removesuffix(b"_t").removesuffix(b"array").removesuffix(b"clamped")
    stem = sized.rstrip(DIGITS)
    return stem in TYPES and 0 < len(sized) - len(stem) <= MOST_BITS  # safeguard: secret-like-type


def is_elsewhere(value: bytes) -> bool:
    """Whether a value is the place of a secret, or the variable that holds it."""
    return is_place(value) or _is_variable(value)


def is_place(value: bytes) -> bool:
    """Whether a value is a path. Base64 and passwords may begin with a slash, too, but rarely hold a word."""
    if not value.startswith(b"/"):
        return value.startswith((b"~/", b"./", b"../")) or _is_file(value)
    if any(len(word) > 2 and _is_word(word) for word in value.translate(SEPARATED).split()):
        return True
    return _is_path(value) and not is_random(value.replace(b"/", b""))  # safeguard: secret-like-path


def _is_file(value: bytes) -> bool:
    """Whether it leads from here to a file, half of it words: base64 has slashes, too, but no point and no words."""
    folders, _, name = value.rpartition(b"/")
    stem, _, ending = name.rpartition(b".")
    if not folders or not stem or not ending[:1].isalpha() or len(ending) > LONGEST_ENDING or not _is_path(value):
        return False
    words = value.translate(SEPARATED).split()
    # safeguard: secret-with-slash
    return 2 * sum(map(_is_word, words)) >= len(words) and not any(is_random(part) for part in value.split(b"/"))


def _is_path(value: bytes) -> bool:
    return not value.translate(None, LETTERS + DIGITS + WORDLY + b"/")


def _is_word(word: bytes) -> bool:
    return word.isalpha() and word[1:].islower()


def _is_variable(value: bytes) -> bool:
    """Whether it is `$NAME`, `${…}`, `$(…)` or begins as `$HOME/`: a password may begin with `$`, too."""
    rest = value[1:].lstrip(LETTERS + DIGITS + b"_")
    is_name = value[1:2].isalpha() or value[1:2] == b"_"
    # safeguard: secret-like-variable
    return value[:1] == b"$" and (value[1:2] in (b"{", b"(", b"[") or (is_name and rest[:1] in AFTER_NAMES))


def is_chancy(value: bytes) -> bool:
    """Whether chance has made a value that a key would have, whatever its alphabet."""
    word = value.removeprefix(b"base64:")
    if len(word) < SHORTEST_CHANCE or b" " in word or b"://" in word or is_harmless(word):
        return False
    has_both = any(byte in DIGITS for byte in word) and any(byte in LETTERS for byte in word)
    parts = word.translate(SEPARATED).split()
    if any(map(is_shuffled, parts)):
        return True
    is_hex = not word.translate(None, HEX + b"-:")
    is_signed = bool(word.translate(None, LETTERS + DIGITS + WORDLY + b":/@=+"))
    is_turned = any(len(part) >= LONG_PART and is_turning(part) for part in parts)
    return has_both and (is_hex or is_signed or is_turned or is_random(word))


def is_shuffled(word: bytes) -> bool:
    """Whether capitals and small letters take turns as in no name: one by one, and capitals in rows."""
    return len(word) >= SHORTEST_CHANCE and len(SHUFFLED.findall(word)) >= MOST_ACRONYMS


def is_turning(word: bytes) -> bool:
    """Whether letters and digits take turns in a word more than once: a name has its digits in one place."""
    return bool(word.lstrip(LETTERS).lstrip(DIGITS).lstrip(LETTERS).lstrip(DIGITS))


def is_random(value: bytes) -> bool:
    """Whether a word is made of chance: of all kinds of characters, and no hash, id or path."""
    if value.count(b"/") > 1 or value.count(b"-") > 3 or value.count(b"_") > 3:
        return False
    kinds = (LETTERS[:26], LETTERS[26:], DIGITS)
    if min(sum(byte in kind for byte in value) for kind in kinds) < 2:
        return False
    times = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in times) >= 3.9
