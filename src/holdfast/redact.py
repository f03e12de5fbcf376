"""Secrets, taken out of what leaves the store: every text of a decoded JSON value, its keys included.

It finds what is known to be a secret: the formats of providers, headers, addresses with a password, private keys,
assignments to names that promise one, and the values that this environment and the project's `.env` files hold. What
looks like any other text passes. It is no promise that nothing secret is left; `redact` says how much it found.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holdfast import files
from holdfast.errors import HoldfastError

SHORTEST = 8  # characters of a value that is looked for literally: a shorter one would be found everywhere
MOST_FILES, LARGEST_FILE = 20, 1 << 20

NAMED = r"pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|credential"
SECRETIVE = re.compile(rf"(?i)(?:{NAMED})s?\Z|(?:{NAMED})[_-]")
TOKENS = re.compile(
    r"\b(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b|gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}"
    r"|glpat-[A-Za-z0-9_-]{20,255}|xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-[A-Za-z0-9-]{10,255}"
    r"|sk-[A-Za-z0-9_-]{20,255}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,255}|whsec_[A-Za-z0-9+/=]{20,255}"
    r"|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,1000}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,1000}"
    r"|hf_[A-Za-z0-9]{30,255}|do[opr]_v1_[a-f0-9]{64}|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"
    r"|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|hvs\.[A-Za-z0-9_-]{20,255}|lin_api_[A-Za-z0-9]{32,64}"
    r"|ATATT3[A-Za-z0-9_=-]{40,255}|AGE-SECRET-KEY-1[A-Z0-9]{58}"
    r"|eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000})"
)
HOOKS = re.compile(r"(https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)[A-Za-z0-9/_-]{20,255}")
KEYS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)")
HEADERS = re.compile(
    r"(?i)(\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token|digest|negotiate)?\s{0,3}"
    r"|\bx-(?:api-key|auth-token|gitlab-token)[\"']?\s{0,3}[:=]\s{0,3}[\"']?|\bbearer\s{1,3})"
    r"([A-Za-z0-9._~+/=-]{12,8000})"
)
ADDRESSES = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@\"'<>]{0,255}:)[^\s/@\"'<>]{1,255}(?=@)")
ASSIGNED = re.compile(
    rf"(?i)((?<![A-Za-z0-9])[A-Za-z0-9_.-]{{0,64}}?(?:{NAMED})[A-Za-z0-9_]{{0,32}}\\?[\"']?"
    r"(?:\s{0,2}(?:=>|:=|=|:)\s{0,2}))(\\?[\"'][^\s\"'\\]{6,1000}|[^\s\"'`,;&<>(){}\[\]$\\]{8,1000}(?![\w.]{0,64}[(\[{]))"
)
PLACE = re.compile(r"~?/|\.{1,2}/")  # a variable may name the file that holds the secret; `PWD` is one of these too
HINT = re.compile(rf"(?i){NAMED}")  # most texts have none of these words, and the pattern above is the slow one
LOOKS_USED = re.compile(r"[0-9]|[^A-Za-z0-9_.-]")  # a plain word after a colon is prose, or code that names a variable

Counts = Counter[str]
Known = re.Pattern[str] | None


def redact(value: Any, known: Known = None) -> tuple[Any, Counts]:
    """A decoded JSON value without the secrets in it, and how many of each kind were found."""
    counts: Counts = Counter()
    return _value(value, known, counts), counts


def find_known(environ: Mapping[str, str], root: Path) -> Known:
    """A pattern for the secrets that this environment and the project's `.env` files hold, in the forms they take."""
    found = set(_secrets_in(environ.items()))
    with contextlib.suppress(OSError):
        for path in sorted(root.glob(".env*"))[:MOST_FILES]:
            with contextlib.suppress(HoldfastError, UnicodeDecodeError):
                found |= set(_secrets_in(_assignments((files.read(path, LARGEST_FILE) or b"").decode())))
    forms = {form for value in found for form in _forms(value) if len(form) >= SHORTEST}
    return re.compile("|".join(map(re.escape, sorted(forms, key=lambda form: (-len(form), form))))) if forms else None


def _secrets_in(pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    secretive = ((name, value) for name, value in pairs if SECRETIVE.search(name) and len(value) >= SHORTEST)
    return (value for name, value in secretive if not PLACE.match(value) and not value.isdecimal())


def _assignments(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            yield name.strip(), value.strip().strip("\"'")


def _forms(value: str) -> Iterable[str]:
    encoded = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
    return (value, encoded.rstrip("="), quote(value, safe="", errors="replace"), json.dumps(value)[1:-1])


def _value(value: Any, known: Known, counts: Counts) -> Any:
    if isinstance(value, str):
        return _text(value, known, counts)
    if isinstance(value, list):
        return [_value(item, known, counts) for item in value]
    if isinstance(value, dict):
        return {_text(key, known, counts): _member(key, item, known, counts) for key, item in value.items()}
    return value


def _member(key: str, value: Any, known: Known, counts: Counts) -> Any:
    if isinstance(value, str) and len(value) >= SHORTEST and SECRETIVE.search(key):
        counts["assignment"] += 1
        return _mark("assignment")
    return _value(value, known, counts)


def _text(text: str, known: Known, counts: Counts) -> str:
    if len(text) < SHORTEST:
        return text
    for kind, pattern, replace in _STEPS:
        if kind != "assignment" or HINT.search(text):
            text = pattern.sub(_counting(kind, replace, counts), text)
    return known.sub(_counting("known value", _whole, counts), text) if known else text


def _counting(
    kind: str, replace: Callable[[re.Match[str], str], str], counts: Counts
) -> Callable[[re.Match[str]], str]:
    def put(found: re.Match[str]) -> str:
        text = replace(found, _mark(kind))
        if text != found.group():
            counts[kind] += 1
        return text

    return put


def _mark(kind: str) -> str:
    return f"[redacted {kind}]"


def _whole(found: re.Match[str], mark: str) -> str:
    return mark


def _after_name(found: re.Match[str], mark: str) -> str:
    return found[1] + mark


def _assigned(found: re.Match[str], mark: str) -> str:
    """What is assigned, with the quote that stood before it. A word that is neither quoted nor odd is no secret."""
    value = found[2]
    opening = value[: len(value) - len(value.lstrip("\\\"'"))]
    is_tight = found[1].endswith("=") and not found[1][:-1].endswith(" ")  # as in a shell
    is_word = not opening and not LOOKS_USED.search(value) and not is_tight
    is_harmless = is_word or value.isdecimal() or value.startswith("[redacted")
    return found.group() if is_harmless else found[1] + opening + mark


_STEPS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], str], str]], ...] = (
    ("private key", KEYS, _whole),
    ("address", ADDRESSES, _after_name),
    ("address", HOOKS, _after_name),
    ("token", TOKENS, _whole),
    ("header", HEADERS, _after_name),
    ("assignment", ASSIGNED, _assigned),
)
