"""Names that promise a secret: of variables, members and headers."""

from __future__ import annotations

import functools

from holdfast.linear import Regex, compiled

NAMED = (
    r"pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|apikey|access[_-]?key|account[_-]?key|private[_-]?key"
    r"|auth[_-]?key|encryption[_-]?key|signing[_-]?key|master[_-]?key|credential|(?-i:_PASS)"
    r"|(?:db|database|user|admin|root|login|sudo|become|ssh|s?ftp|smtp|mail|imap|ldap|http|proxy|auth|redis|mysql|mongo)"
    r"[_-]?pass"  # a first_pass is none
)
TAIL = r"s?(?:[_-]?(?:key|value|base|b64|base64|string|enc|[0-9]+))*"  # of a name: a token_count is no token
LONGEST_NAME = 200  # of what may be one, in characters
SENT = r"(?:http[_-]|proxy[_-]|set[_-]|x[_-])?(?:authorization|cookie)"
SECRETIVE = rf"(?i)(?:(?:{NAMED}){TAIL}|\A{SENT})\z"
HEADER = rf"(?i)\A(?:{SENT}|x-[a-z0-9-]*(?:{NAMED}){TAIL})\z"


def is_secretive(name: str) -> bool:
    """Whether the name of a member or variable promises a secret."""
    return len(name) < LONGEST_NAME and matches(SECRETIVE, name)  # or long names would fill the memory of them


def is_header(name: str) -> bool:
    """Whether a text is the name of a header that carries a secret."""
    return len(name) < LONGEST_NAME and matches(HEADER, name)


@functools.lru_cache(4096)
def matches(source: str, text: str) -> bool:
    return _compiled(source).search(text.encode("utf-8", "replace")) is not None


@functools.cache
def _compiled(source: str) -> Regex:
    return compiled(source)
