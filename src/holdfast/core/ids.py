"""Ids and short hashes: generation, comparison, and safety of an id in a path."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, which are easily misread
LENGTH = 10
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
AS_FILE_NAME = re.compile(r"(?!x-)[a-z0-9][a-z0-9._-]{0,127}\Z")
SMALL = 1 << 18  # bytes below which `hashlib` is slower
HOMES = {"sha1": ("_sha1",), "sha256": ("_sha2", "_sha256"), "blake2b": ("_blake2",)}  # by Python version


def make(prefix: str) -> str:
    """Return a new id such as `run-4x9k2m7pq3`: short enough to type, 50 random bits."""
    number = int.from_bytes(os.urandom(7)) & (1 << 5 * LENGTH) - 1
    return prefix + "-" + "".join(ALPHABET[number >> 5 * i & 31] for i in range(LENGTH))


def make_mark() -> str:
    """Return an unpredictable mark."""
    return make("")[1:]


def make_event(moment: int) -> str:
    """Return an event id that begins with its time (microseconds), so that new rows are adjacent in an index."""
    return (moment >> 10 & (1 << 48) - 1).to_bytes(6).hex() + os.urandom(10).hex()


@functools.lru_cache(2048)
def event_of_call(name: str) -> str:
    """Return the id of the event made from an inbox call; deterministic, so ingesting a call twice is idempotent."""
    since_boot = name.partition("-")[0]
    moment = int(since_boot) >> 20 if since_boot.isdecimal() and len(since_boot) <= 20 else 0
    data = name.encode("utf-8", "surrogateescape")
    return (moment & (1 << 48) - 1).to_bytes(6).hex() + hexdigest("blake2b", data, digest_size=10)


def is_safe(text: str) -> bool:
    """Return True for an id that can appear unquoted in a command line, a message or a reply."""
    return SAFE.match(text) is not None


def file_name(text: str) -> str:
    """Return a file name for any id. Distinct ids never collide, even on a case-insensitive file system."""
    if AS_FILE_NAME.match(text):  # safeguard: id-as-file-name
        return text
    return "x-" + hexdigest("sha256", text.encode("utf-8", "surrogatepass"))[:40]


def hexdigest(name: str, *parts: bytes, **options: int) -> str:
    """Return the hash of the concatenated parts.

    Small input uses Python's built-in code: `hashlib` loads OpenSSL, which takes longer than all hashes of a
    checkpoint.
    """
    state = _maker(name, sum(map(len, parts)) < SMALL)(**options)
    for part in parts:
        state.update(part)
    return str(state.hexdigest())


@functools.cache
def _maker(name: str, is_small: bool) -> Callable[..., Any]:
    for home in HOMES[name] if is_small else ():
        try:
            return cast(Callable[..., Any], getattr(import_module(home), name))
        except ImportError:  # this Python was built without it
            continue
    return cast(Callable[..., Any], getattr(import_module("hashlib"), name))
