"""JSON Lines transcripts: read in bounded memory, and copied line by line."""

from __future__ import annotations

import codecs
import os
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from holdfast.core.formats.json_limits import is_dense
from holdfast.journal.codec import UNREADABLE
from holdfast.project import inbox
from holdfast.project.inbox import NotACall
from holdfast.system import files

ENDING = ".jsonl"
CHUNK, LONGEST = 1 << 20, 32 * 1024 * 1024  # bytes; a longer line is skipped
TOO_LONG = b'{"type":"left-out","reason":"the line is too long"}\n'
WIDE = {BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be", b"{\0": "utf-16-le", b"\0{": "utf-16-be"}

Line = dict[str, Any]
_decode = msgspec.json.Decoder().decode


def copied(path: Path, change: Callable[[Line], Line]) -> Iterator[bytes]:
    """Every line of a transcript, transformed by `change`. A line that cannot be parsed is passed to it as a text."""
    with files.open_regular(path) as file:
        for line in split(file):
            if line != b"":
                yield TOO_LONG if line is None else changed(line, change)


def changed(line: bytes, change: Callable[[Line], Line]) -> bytes:
    """One line of a transcript, transformed by `change`; nothing for an empty one."""
    parsed = parse(line) if line else None
    if parsed is not None:
        return msgspec.json.encode(change(parsed)) + b"\n"
    return str(change({"": line.decode("utf-8", "replace")})[""]).encode() + b"\n" if line else b""


def split(file: int) -> Iterator[bytes | None]:
    """The lines of a file, with at most LONGEST bytes in memory; None for a longer line."""
    parts: list[bytes] = []
    size = 0
    for chunk in _chunks(file):
        first, *rest = chunk.split(b"\n")
        parts, size = ([*parts, first] if size <= LONGEST else []), size + len(first)
        for following in rest:
            yield b"".join(parts) if size <= LONGEST else None
            parts, size = [following], len(following)
    yield b"".join(parts) if size <= LONGEST else None


def _chunks(file: int) -> Iterator[bytes]:
    """A file in chunks of UTF-8. UTF-16, in which some editors save, is converted."""
    begins = os.pread(file, 4, 0)
    mark = next((mark for mark in (BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE) if begins.startswith(mark)), b"")
    os.lseek(file, len(mark), os.SEEK_SET)
    coding = next((coding for begin, coding in WIDE.items() if begins.startswith(begin)), None)
    # a lone surrogate becomes invalid UTF-8, and so counts as damage; at the very end it is part of the last line
    decoder = codecs.getincrementaldecoder(coding)("surrogatepass") if coding else None
    while chunk := os.read(file, CHUNK):
        yield decoder.decode(chunk).encode("utf-8", "surrogatepass") if decoder else chunk


def parse(line: bytes) -> Line | None:
    if is_dense(line):
        return None
    try:
        value = _decode(line)
    except UNREADABLE:  # the last line may be incomplete
        try:
            value = inbox.parse(line) if b"\\u" in line else None  # tolerates an escaped lone surrogate
        except NotACall:
            return None
    return value if isinstance(value, dict) else None
