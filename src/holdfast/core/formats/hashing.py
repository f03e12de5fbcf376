"""Hashes of what is short, by the code that Python brings itself.

`hashlib` loads a library that is faster with megabytes, and that takes longer to load than all hashes of a checkpoint.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

SMALL = 1 << 18  # bytes below which that library does not pay
HOMES = {"sha1": ("_sha1",), "sha256": ("_sha2", "_sha256"), "blake2b": ("_blake2",)}  # by the version of Python


def hexdigest(name: str, *parts: bytes, **options: int) -> str:
    """The hash of these parts, one behind the other."""
    state = _maker(name, sum(map(len, parts)) < SMALL)(**options)
    for part in parts:
        state.update(part)
    return str(state.hexdigest())


@functools.cache
def _maker(name: str, is_small: bool) -> Callable[..., Any]:
    for home in HOMES[name] if is_small else ():
        try:
            return _member(home, name)
        except ImportError:  # a Python without its own
            continue
    return _member("hashlib", name)


def _member(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
