"""How an event's body is stored: as JSON, compressed where that pays, with large repeated values stored once.

A string of `SHARED` characters or more is taken out of the body and replaced by `{"$blob": HASH}`. A key of the body
that begins with a dollar sign is written with one more, so that no body can forge a reference.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.errors import Damaged
from holdfast.model import Body

SHARED = 1024
WORTH_COMPRESSING = 400
PLAIN, COMPRESSED = b"j", b"z"

# What decoding raises: bytes that are not UTF-8 are a ValueError, and nesting has its end.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


def pack(body: Body) -> tuple[bytes, dict[bytes, bytes]]:
    """The stored form of a body, and the large values in it by their hash."""
    blobs: dict[bytes, bytes] = {}
    return squeeze(encode(_take_out(body, blobs))), blobs


def unpack(data: bytes, fetch: Callable[[bytes], bytes | None]) -> Body:
    """The body again; `fetch` finds a large value by its hash."""
    try:
        body = _put_back(decode(expand(data)), fetch)
    except UNREADABLE as error:
        raise Damaged("The body of an event cannot be read", [("error", error)], ["`holdfast verify`"]) from error
    if not isinstance(body, dict):
        raise Damaged("The body of an event is not an object", [], ["`holdfast verify`"])
    return body


def blobs_in(data: bytes) -> set[bytes]:
    """The hashes that a stored body refers to."""
    found: set[bytes] = set()

    def note(digest: bytes) -> bytes:
        found.add(digest)
        return b""

    unpack(data, note)
    return found


def squeeze(data: bytes) -> bytes:
    if len(data) >= WORTH_COMPRESSING:
        small = zlib.compress(data, 1)
        if len(small) < len(data):
            return COMPRESSED + small
    return PLAIN + data


def expand(data: bytes) -> bytes:
    kind, rest = data[:1], data[1:]
    if kind == PLAIN:
        return rest
    try:
        if kind == COMPRESSED:
            return zlib.decompress(rest)
    except zlib.error as error:
        raise Damaged("A stored value cannot be expanded", [("error", error)], ["`holdfast verify`"]) from error
    raise Damaged("A stored value has an unknown form", [("form", kind)], ["`holdfast verify`"])


def digest_of(data: bytes) -> bytes:
    from hashlib import blake2b  # few commands meet a large value

    return blake2b(data, digest_size=16).digest()


def _take_out(value: Any, blobs: dict[bytes, bytes]) -> Any:
    if isinstance(value, str):
        if len(value) < SHARED:
            return value
        data = value.encode()
        digest = digest_of(data)
        blobs[digest] = data
        return {"$blob": digest.hex()}
    if isinstance(value, dict):
        return {_escape(key): _take_out(item, blobs) for key, item in value.items()}
    if isinstance(value, list):
        return [_take_out(item, blobs) for item in value]
    return value


def _escape(key: str) -> str:
    return "$" + key if key.startswith("$") else key


def _put_back(value: Any, fetch: Callable[[bytes], bytes | None]) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(digest := value.get("$blob"), str):
            return _fetch(bytes.fromhex(digest), fetch)
        return {
            key.removeprefix("$") if key.startswith("$") else key: _put_back(item, fetch) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_put_back(item, fetch) for item in value]
    return value


def _fetch(digest: bytes, fetch: Callable[[bytes], bytes | None]) -> str:
    data = fetch(digest)
    if data is None:
        raise Damaged("A stored value is missing", [("hash", digest.hex())], ["`holdfast verify`"])
    return data.decode("utf-8", "replace")
