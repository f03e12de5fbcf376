"""Names of variables, object members and headers that hold a secret."""

from __future__ import annotations

import functools
import re

from holdfast.redaction.regex import Regex, compiled

NAMED = (
    r"pass(?:word|wd|phrase|wort)|pwd|kennwort|contrase(?:n|\xc3\xb1)a|senha|secret|token|api[_-]?key|apikey|access[_-]?key"
    r"|account[_-]?key|private[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|master[_-]?key|license[_-]?key"
    r"|storage[_-]?key|pre-?shared-?key|credential|wpa[_-]?psk|bind[_-]?pw|root[_-]?pw|(?-i:_PASS)"
    r"|(?:db|database|user|admin|root|login|sudo|become|ssh|s?ftp|smtp|mail|imap|ldap|http|proxy|auth|redis|mysql|mongo)"
    r"[_-]?pass"  # but not `first_pass`
)
# Endings of a secret name: `token_prod` and `token_old` are tokens, `int_of` is not.
TAIL = (
    r"s?(?:[_-]?(?:key|value|base|b64|base64|string|enc|[0-9]+)"
    r"|[_-](?:prod|production|dev|test|staging|old|new|ro|rw|v[0-9]+))*"
)
# A name in capitals may end with the purpose of the secret; one that ends with a property of it is not secret.
FOR = r"(?:PASSWORD|SECRET|TOKEN|API_KEY)(?:_[A-Z][A-Z0-9]*)+"
TOLD = frozenset((
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
KNOWN_TO_ALL = frozenset(
    ("PUBLIC", "PUBLISHABLE", "SITE", "CACHE", "SORT", "PRIMARY", "FOREIGN", "PARTITION", "OBJECT")
)
KIND_NAMES = ("password", "token", "key", "cookie", "credential", "secret")
KINDS = re.compile(
    rb"(pass|pwd|pw|psk|mdp|psw|kennwort|contrase|senha|login|connect)|(token)|(key|salt|hmac|jwt|fernet|aes|cipher)|(cookie)"
    rb"|(credential|auth)|(secret)"
)
LONGEST_NAME = 200  # characters
SENT = r"(?:http[_-]|proxy[_-]|set[_-]|x[_-])?(?:authorization|cookie)"
SECRETIVE = rf"(?i)(?:(?:{NAMED}){TAIL}|\A{SENT})\z"
HEADER = rf"(?i)\A(?:{SENT}|x-[a-z0-9-]*(?:{NAMED}){TAIL})\z"


def is_secretive(name: str) -> bool:
    """True if a member or variable of this name holds a secret."""
    if len(name) >= LONGEST_NAME:  # long names would fill the cache of `matches`
        return False
    return (matches(SECRETIVE, name) and not is_public(name)) or is_for(name)  # safeguard: name-of-purpose


def is_for(name: str) -> bool:
    """True for a name in capitals with the purpose of a secret: `TOKEN_GITHUB`, but not `TOKEN_LIMIT`."""
    return name.startswith(("PASSWORD_", "SECRET_", "TOKEN_", "API_KEY_")) and (
        matches(rf"\A{FOR}\z", name) and TOLD.isdisjoint(name.split("_"))
    )


def kind_of(name: bytes) -> str:
    """The kind of secret that a name stands for: that of the last word that tells it."""
    found = KINDS.findall(name.lower())
    return (
        next((kind for kind, word in zip(KIND_NAMES, found[-1], strict=True) if word), "secret")
        if found
        else "password"
    )


def is_keyed(name: str) -> bool:
    """True for a name in capitals of a key that is not public."""
    return len(name) < LONGEST_NAME and (
        matches(rf"\A(?:{KEYED})\z", name) and KNOWN_TO_ALL.isdisjoint(name.split("_"))
    )


def is_public(name: str) -> bool:
    """True for the name of a public value: a publishable key is no secret."""
    return matches(
        r"(?i)(?:public|publishable)[A-Za-z0-9]*[_-]?(?:api[_-]?)?(?:key|token)\z|existing[_-]?secret\z", name
    )


def is_header(name: str) -> bool:
    """True for the name of a header that carries a secret."""
    return len(name) < LONGEST_NAME and matches(HEADER, name)


@functools.lru_cache(4096)
def matches(source: str, text: str) -> bool:
    return _compiled(source).search(text.encode("utf-8", "replace")) is not None


@functools.cache
def _compiled(source: str) -> Regex:
    return compiled(source)
