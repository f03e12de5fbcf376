"""Classifiers of names and values: names that hold a secret, values that cannot be one, random values, public keys."""

from __future__ import annotations

import functools
import math
import re
import sys
from collections import Counter

from holdfast.redaction.regex import Match, compiled

# Names of variables, object members and headers that hold a secret

NAMED = (
    r"pass(?:word|wd|phrase|wort)|pwd|kennwort|contrase(?:n|\xc3\xb1)a|senha|secret|token|api[_-]?key|apikey|access[_-]?key"
    r"|account[_-]?key|private[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|master[_-]?key|license[_-]?key"
    r"|storage[_-]?key|pre-?shared-?key|credential|wpa[_-]?psk|bind[_-]?pw|root[_-]?pw|(?-i:_PASS)"
    r"|(?:db|database|user|admin|root|login|sudo|become|ssh|s?ftp|smtp|mail|imap|ldap|http|proxy|auth|redis|mysql|mongo)"
    r"[_-]?pass"  # but not `first_pass`
)
# Endings of a secret name: `token_prod` and `token_old` are tokens, `token_count` is not.
TAIL = (
    r"s?(?:[_-]?(?:key|value|base|b64|base64|string|enc|[0-9]+)"
    r"|[_-](?:prod|production|dev|test|staging|old|new|ro|rw|v[0-9]+))*"
)
# A name in capitals may end with the purpose of the secret; one that ends with a property of it is not secret.
FOR = r"(?:PASSWORD|SECRET|TOKEN|API_KEY)(?:_[A-Z][A-Z0-9]*)+"
PROPERTIES = frozenset((
    "AGE", "ALGORITHM", "ARN", "AUDIENCE", "BUDGET", "BYTES", "CHARS", "CLASS", "COUNT", "DAYS", "DIR", "ENDPOINT",
    "ENV", "ERROR", "EXPIRATION", "EXPIRES", "EXPIRY", "FIELD", "FIELDS", "FILE", "FILENAME", "FORMAT", "HEADER",
    "HEADERS", "HOST", "HOURS", "ID", "IDS", "ISSUER", "KIND", "LEN", "LENGTH", "LIFETIME", "LIMIT", "LIMITS", "LIST",
    "LOCATION", "MANAGER", "MAX", "MIN", "MINUTES", "MODE", "NAME", "NAMES", "NUMBER", "OWNER", "PARAM", "PATH",
    "PATTERN", "POLICY", "PREFIX", "PROVIDER", "REF", "REGEX", "REGION", "SCOPE", "SCOPES", "SECONDS", "SIZE",
    "SOURCE", "STORE", "SUFFIX", "TIME", "TIMEOUT", "TTL", "TYPE", "TYPES", "URI", "URL", "USAGE", "USER", "USERNAME",
    "VALIDATOR", "VALIDATORS", "VAR", "VERSION",
))  # fmt: skip
# Names in capitals of a key, a salt or a token, if the value is random.
KEYED = r"(?:[A-Z0-9]+_)*(?:KEY|SALT|PAT|APIKEY_PRIVATE)|BUNDLE_[A-Z_]+__COM"
PUBLIC_WORDS = frozenset(
    ("PUBLIC", "PUBLISHABLE", "SITE", "CACHE", "SORT", "PRIMARY", "FOREIGN", "PARTITION", "OBJECT")
)
# Names of public values: a publishable key is no secret.
PUBLIC_NAME = r"(?i)(?:public|publishable)[A-Za-z0-9]*[_-]?(?:api[_-]?)?(?:key|token)\z|existing[_-]?secret\z"
KIND_NAMES = ("password", "token", "key", "cookie", "credential", "secret")
KINDS = re.compile(
    rb"(pass|pwd|pw|psk|mdp|psw|kennwort|contrase|senha|login|connect)|(token)|(key|salt|hmac|jwt|fernet|aes|cipher)|(cookie)"
    rb"|(credential|auth)|(secret)"
)
LONGEST_NAME = 200  # characters
# Headers whose value is a secret: in any text, as a member, and in a flat list. Other names that start with `x-` and
# end with a name of NAMED are headers, too.
HEADERS = r"x-(?:api-key|auth-token|gitlab-token|access-token|csrf-token|vault-token|auth-key)"
AUTHORIZING = r"(?:http[_-]|proxy[_-]|set[_-]|x[_-])?(?:authorization|cookie)"  # headers with a scheme or crumbs
SECRETIVE = rf"(?i)(?:(?:{NAMED}){TAIL}|\A(?:{AUTHORIZING}|{HEADERS}))\z"
HEADER = rf"(?i)\A(?:{AUTHORIZING}|{HEADERS}|x-[a-z0-9-]*(?:{NAMED}){TAIL})\z"

# Values in the position of a secret

SHORTEST = 8  # characters of a secret
SHORTEST_CHANCE, LONG_PART = 14, 10  # characters of a random value, and of a part of one
DIGITS = b"0123456789"
HEX = b"0123456789abcdefABCDEF"
LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDLY = b"-_."
SEPARATED = bytes(byte if byte in LETTERS + DIGITS else 32 for byte in range(256))
NUMERIC = DIGITS + b"_.,/~kM%"  # token counts, as people and programs write them: used, and of how many
TYPES = (b"int", b"uint", b"bigint", b"biguint", b"float", b"complex", b"bytes")  # followed by their size in bits
MOST_BITS = 3  # digits of that size
LONGEST_ENDING = 5  # characters of a file extension
CLOSED = {b"@": b"@", b"<": b">", b"{": b"}", b"[": b"]", b"%": b"%", b"(": b")"}  # brackets of template variables
TO_FILL_IN = (b"your", b"my_", b"my-", b"insert", b"replace", b"enter")  # first words of template variables
FORMATS: tuple[bytes, ...] = (b"%s", b"%d", b"%v", b"%(", b"%{", b"#{")
FORMATS += (b"/^[", b"[0-9", b"[A-Z", b"[a-z", b"(?:", b"^[")  # and first characters of regular expressions
SHUFFLED = re.compile(rb"[A-Z]{2,}|(?<![a-z])[a-z](?![a-z])")  # several capitals in a row, or a lone small letter
MOST_ACRONYMS = 4  # such parts that make a word random; names have fewer, as in `JSONById`
AFTER_NAMES = b"/.:$[-=+|?("  # characters after a variable in a path, a template or code
PLACEHOLDERS = frozenset(  # the last two are values of the `credentials` option of fetch
    b"undefined required optional password passwd xxxxxx xxxxxxxx ... string changeme change_me change-me changeit"
    b" !vault unchanged none include same-origin".split()
)
# PostHog's project key, Mapbox's public token, publishable keys of Stripe, Clerk, Supabase and others: all of them are
# served to browsers. `pk_` alone does not qualify: Klaviyo's private keys start with it.
PUBLIC = re.compile(
    rb"(?:phc_|pk\.eyJ|pk_(?:live|test)_|(?:live|test)_pub_|sb_publishable_|FLWPUBK(?:_TEST)?-|pk-lf-|pubkey-"
    rb"|(?:pub|sub)-c-|public-(?:sandbox|development|production)-)[A-Za-z0-9_.=-]{16,}"
)
DSN_KEY = re.compile(rb"[0-9a-f]{32}")
DSN_HOST = re.compile(rb"@[A-Za-z0-9.-]*sentry[A-Za-z0-9.-]*(?::[0-9]+)?(?:/[A-Za-z0-9_-]+)*/[0-9]+(?![A-Za-z0-9_/-])")


def is_secretive(name: str) -> bool:
    """True if a member or variable of this name holds a secret."""
    if len(name) >= LONGEST_NAME:  # long names would fill the cache of `matches`
        return False
    return (matches(SECRETIVE, name) and not matches(PUBLIC_NAME, name)) or is_for(name)  # safeguard: name-of-purpose


def is_for(name: str) -> bool:
    """True for a name in capitals with the purpose of a secret: `TOKEN_GITHUB`, but not `TOKEN_LIMIT`."""
    return name.startswith(("PASSWORD_", "SECRET_", "TOKEN_", "API_KEY_")) and (
        matches(rf"\A{FOR}\z", name) and PROPERTIES.isdisjoint(name.split("_"))
    )


def kind_of(name: bytes) -> str:
    """The kind of secret that a name announces, by its last word for a kind."""
    found = KINDS.findall(name.lower())
    return (
        next((kind for kind, word in zip(KIND_NAMES, found[-1], strict=True) if word), "secret")
        if found
        else "password"
    )


def is_keyed(name: str) -> bool:
    """True for a name in capitals of a key that is not public."""
    return len(name) < LONGEST_NAME and (
        matches(rf"\A(?:{KEYED})\z", name) and PUBLIC_WORDS.isdisjoint(name.split("_"))
    )


def is_header(name: str) -> bool:
    """True for the name of a header that carries a secret."""
    return len(name) < LONGEST_NAME and matches(HEADER, name)


@functools.lru_cache(4096)
def matches(source: str, text: str) -> bool:
    return compiled(source).search(text.encode("utf-8", "replace")) is not None


def has(kind: bytes, value: bytes) -> bool:
    return any(byte in kind for byte in value)


def has_both(value: bytes) -> bool:
    """True if a value has letters and digits."""
    return has(DIGITS, value) and has(LETTERS, value)


# False positives: paths, variables, numbers, template variables, public keys


def is_harmless(value: bytes) -> bool:
    return is_elsewhere(value) or is_filled_in(value) or is_number(value) or value.lower() in PLACEHOLDERS


def is_filled_in(value: bytes) -> bool:
    """True for a template variable: in brackets, a format, or one repeated sign. `<Abc123!` is a password."""
    closing = CLOSED.get(value[:1], b"")
    is_closed = bool(closing) and len(value) > 1 and value.endswith(closing)  # safeguard: password-in-brackets
    is_colour = value[:1] == b"#" and len(value) in (4, 7, 9) and not value[1:].translate(None, HEX)
    is_same = is_colour or not value.strip(b"*") or not value.strip(b"x") or not value.strip(b".")
    return is_closed or is_same or value.startswith(FORMATS) or _is_asked_for(value)


def _is_asked_for(value: bytes) -> bool:
    """True for a value like `your_api_key_here`: words without a digit."""
    is_worded = value[:8].lower().startswith(TO_FILL_IN) or value[-4:].lower() == b"here"
    return is_worded and not value.translate(None, WORDLY).strip(LETTERS)


def is_named(value: bytes) -> bool:
    """True for a variable, if its name is a usual one: `$tr0ngPass9` is a password."""
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
    """True if an unquoted value is a type, or the attribute that holds the secret."""
    names = value.split(b".")
    are_names = all(name[:1].strip(DIGITS) and not name.translate(None, LETTERS + DIGITS + b"_") for name in names)
    is_path = len(names) > 1 and are_names
    return (is_path and is_secretive(names[-1].decode())) or _is_type(value)


def _is_type(value: bytes) -> bool:
    """True for a type like `uint64` or `Uint8Array`, also in a union with words, as in `Uint8Array|null`."""
    left = [word for word in value.split(b"|") if not _is_primitive(word.lower())]
    return b"|".join(left) != value and all(word.isalpha() for word in left)


def _is_primitive(word: bytes) -> bool:
    sized = word.removesuffix(b"_t").removesuffix(b"array").removesuffix(b"clamped")
    stem = sized.rstrip(DIGITS)
    return stem in TYPES and 0 < len(sized) - len(stem) <= MOST_BITS  # safeguard: secret-like-type


def is_elsewhere(value: bytes) -> bool:
    """True if a value is the path of a secret, or the variable that holds it."""
    return is_place(value) or _is_variable(value)


def is_place(value: bytes) -> bool:
    """True if a value is a path. Base64 and passwords may start with a slash, too, but rarely contain a word."""
    if not value.startswith(b"/"):
        return value.startswith((b"~/", b"./", b"../")) or _is_file(value)
    if any(len(word) > 2 and _is_word(word) for word in value.translate(SEPARATED).split()):
        return True
    return _is_path(value) and not is_random(value.replace(b"/", b""))  # safeguard: secret-like-path


def _is_file(value: bytes) -> bool:
    """True for a relative path of a file, at least half of it words: base64 has slashes, but no dot and no words."""
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
    """True for `$NAME`, `${…}`, `$(…)` and a start like `$HOME/`: a password may start with `$`, too."""
    rest = value[1:].lstrip(LETTERS + DIGITS + b"_")
    is_name = value[1:2].isalpha() or value[1:2] == b"_"
    # safeguard: secret-like-variable
    return value[:1] == b"$" and (value[1:2] in (b"{", b"(", b"[") or (is_name and rest[:1] in AFTER_NAMES))


def is_chancy(value: bytes) -> bool:
    """True if a value is random, as that of a key is, in any alphabet."""
    word = value.removeprefix(b"base64:")
    if len(word) < SHORTEST_CHANCE or b" " in word or b"://" in word or is_harmless(word):
        return False
    parts = word.translate(SEPARATED).split()
    if any(map(is_shuffled, parts)):
        return True
    is_hex = not word.translate(None, HEX + b"-:")
    is_signed = bool(word.translate(None, LETTERS + DIGITS + WORDLY + b":/@=+"))
    is_turned = any(len(part) >= LONG_PART and is_turning(part) for part in parts)
    return has_both(word) and (is_hex or is_signed or is_turned or is_random(word))


def is_shuffled(word: bytes) -> bool:
    """True if upper and lower case alternate more often than in a name, with single letters and runs of capitals."""
    return len(word) >= SHORTEST_CHANCE and len(SHUFFLED.findall(word)) >= MOST_ACRONYMS


def is_turning(word: bytes) -> bool:
    """True if letters and digits alternate more than once: a name has its digits in one place."""
    return bool(word.lstrip(LETTERS).lstrip(DIGITS).lstrip(LETTERS).lstrip(DIGITS))


def is_random(value: bytes) -> bool:
    """True if a word has the entropy of random text: both cases and digits, and no hash, id or path."""
    if value.count(b"/") > 1 or value.count(b"-") > 3 or value.count(b"_") > 3:
        return False
    kinds = (LETTERS[:26], LETTERS[26:], DIGITS)
    if min(sum(byte in kind for byte in value) for kind in kinds) < 2:
        return False
    times = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in times) >= 3.9


def is_public(text: bytes, start: int = 0, end: int = sys.maxsize) -> bool:
    return PUBLIC.fullmatch(text, start, end) is not None


def is_dsn_key(text: bytes, match: Match) -> bool:
    """True if the user part of a URL is the public key of a Sentry DSN, which browsers send."""
    start, end = match.span(1)
    return DSN_KEY.fullmatch(text, start, end) is not None and DSN_HOST.match(text, end) is not None
