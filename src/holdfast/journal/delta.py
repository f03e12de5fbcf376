"""A text as the difference to an earlier one: what is copied from it, and what is new. Nothing here is compressed.

A difference is a flat list: two numbers, where to copy from and how much; or bytes, which stand for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BLOCK = 32  # bytes that must be equal before anything is copied
SAMPLES = 16  # places that are looked at before two texts are compared at all
STRIDE = 4096

Difference = list[int | bytes]


def is_alike(base: bytes, value: bytes) -> bool:
    """Whether comparing may pay: most of a few samples of the one occur in the other."""
    if len(value) < SAMPLES * BLOCK or len(base) < SAMPLES * BLOCK:
        return False
    step = (len(value) - BLOCK) // (SAMPLES - 1)
    return sum(value[at : at + BLOCK] in base for at in range(0, step * SAMPLES, step)) > SAMPLES // 2


def difference(base: bytes, value: bytes) -> Difference:
    """What makes `value` of `base`."""
    places = {base[at : at + BLOCK]: at for at in range(len(base) - BLOCK, -1, -BLOCK)}
    found: Difference = []
    new = at = 0  # where what is new begins, and where we look
    while at <= len(value) - BLOCK:
        start = places.get(value[at : at + BLOCK])
        if start is None:
            at += 1
            continue
        while at > new and start > 0 and value[at - 1] == base[start - 1]:
            at, start = at - 1, start - 1
        length = _common(base, start, value, at)
        found += [value[new:at], start, length] if at > new else [start, length]
        new = at = at + length
    return [*found, value[new:]] if new < len(value) else found


def patch(base: bytes, changes: Any, limit: int) -> bytes:
    """The value again. A ValueError says that this is no difference to this base, or that it becomes too large."""
    if not isinstance(changes, list):
        raise ValueError("a difference is a list")
    return b"".join(_parts(base, iter(changes), limit))


def _parts(base: bytes, changes: Iterator[Any], limit: int) -> Iterator[bytes]:
    for item in changes:
        part = item if isinstance(item, bytes) else _copied(base, item, next(changes, None))
        limit -= len(part)
        if limit < 0:
            raise ValueError("a difference makes more than a value may be")
        yield part


def _copied(base: bytes, start: Any, length: Any) -> bytes:
    if type(start) is not int or type(length) is not int or not 0 <= start <= start + length <= len(base):
        raise ValueError("a difference copies what its base does not have")
    return base[start : start + length]


def _common(one: bytes, at: int, other: bytes, there: int) -> int:
    """How many bytes are equal from these two places on."""
    most = min(len(one) - at, len(other) - there)
    length, step = 0, STRIDE
    while step and length < most:
        step = min(step, most - length)
        if one[at + length : at + length + step] == other[there + length : there + length + step]:
            length += step
        else:
            step //= 2
    return length
