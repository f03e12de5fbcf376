"""Claude Code's own record of a conversation, a JSON object a line. It is only read, and nothing in it is believed.

The form is the client's own and changes: whatever is not what we know is passed over.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast import intake
from holdfast.errors import HoldfastError, Refused, from_os_error
from holdfast.fill import number
from holdfast.intake import NotACall
from holdfast.packing import UNREADABLE

ENDING = ".jsonl"
FIRST_TAIL, LAST_TAIL = 64 * 1024, 16 * 1024 * 1024  # bytes from the end in which the last answer is looked for
CHUNK, LONGEST = 1 << 20, 32 * 1024 * 1024  # bytes; a line that is longer is passed over
SYNTHETIC = "<synthetic>"  # the model of answers that the client itself made up
COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
BOUNDARY = "compact_boundary"
WANTED = (b'"user"', b'"assistant"', b'"system"', b'"cost-state"')  # kinds of line; most bytes are in others

Line = dict[str, Any]
_decode = msgspec.json.Decoder().decode


class Usage(Struct, frozen=True):
    """The tokens in a context after its last answer, and the model that gave it."""

    tokens: int
    model: str | None = None


def read_usage(path: Path) -> Usage | None:
    """What the last answer of the conversation itself left in the context; None where that cannot be known."""
    try:
        with opened(path) as file:
            size, tail = os.fstat(file).st_size, FIRST_TAIL
            while True:
                found, is_found = _last_usage(os.pread(file, tail, max(0, size - tail)), whole=tail >= size)
                if is_found or tail >= size or tail >= LAST_TAIL:
                    return found
                tail *= 4
    except (HoldfastError, OSError, ValueError):  # gone, a pipe, somebody else's: then it is not known
        return None


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a whole transcript that tell of the conversation. Damaged ones are passed over."""
    with opened(path) as file:
        try:
            for line in _split(file):
                if any(kind in line for kind in WANTED) and (parsed := _parse(line)) is not None:
                    yield parsed
        except OSError as error:
            error.filename = error.filename or str(path)
            raise from_os_error(error) from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A regular file, open for reading. Links, pipes and devices are refused, and never waited for."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Refused("This is a link or a socket, not a regular file", [("path", path)]) from error
        raise from_os_error(error) from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Refused("This is not a regular file", [("path", path)])
        yield file
    finally:
        os.close(file)


def usage_of(line: Line) -> Usage | None:
    """What an answer of the conversation itself says of its tokens; None for any other line."""
    message = line.get("message")
    if line.get("type") != "assistant" or line.get("isSidechain") is True or not isinstance(message, dict):
        return None
    usage, model = message.get("usage"), message.get("model")
    if not isinstance(usage, dict) or model == SYNTHETIC:
        return None
    tokens = sum(number(usage.get(name)) or 0 for name in COUNTS)
    return Usage(tokens, model if isinstance(model, str) else None) if tokens else None


def is_boundary(line: Line) -> bool:
    """Whether the context was compacted here: nothing before it is in the context any more."""
    return line.get("type") == "system" and line.get("subtype") == BOUNDARY and line.get("isSidechain") is not True


def _last_usage(data: bytes, whole: bool) -> tuple[Usage | None, bool]:
    """The newest usage in the end of a file, and whether it need not be looked for further up."""
    lines = data.split(b"\n")
    for line in reversed(lines if whole else lines[1:]):  # the first one is cut
        if BOUNDARY.encode() not in line and b'"usage"' not in line:
            continue
        parsed = _parse(line) or {}
        if found := usage_of(parsed):
            return found, True
        if is_boundary(parsed):
            about = parsed.get("compactMetadata")
            left = number(about.get("postTokens")) if isinstance(about, dict) else None
            return (Usage(left) if left is not None else None), True
    return None, False


def _split(file: int) -> Iterator[bytes]:
    """The lines of a file, never more of it in memory than the longest line that we take."""
    parts: list[bytes] = []
    size = 0
    while chunk := os.read(file, CHUNK):
        first, *rest = chunk.split(b"\n")
        parts, size = ([*parts, first] if size <= LONGEST else []), size + len(first)
        for following in rest:
            if size <= LONGEST:
                yield b"".join(parts)
            parts, size = [following], len(following)
    if size <= LONGEST:
        yield b"".join(parts)


def _parse(line: bytes) -> Line | None:
    try:
        value = _decode(line)
    except UNREADABLE:  # the last line may still be in the making; half a character is put up with
        value = _parse_patiently(line) if b"\\u" in line else None
    return value if isinstance(value, dict) else None


def _parse_patiently(line: bytes) -> Any:
    try:
        return intake.parse(line)
    except NotACall:
        return None
