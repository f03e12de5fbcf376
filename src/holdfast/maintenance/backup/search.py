"""Whether a copy of a store speaks of something. Its date does not tell: clocks are set back, and files are copied."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO

CHUNK = 1 << 20
COMPRESSED = b"\x1f\x8b"


def mentions(path: Path, word: bytes) -> bool:
    """Whether a file, or any file in a directory, holds these bytes. One that cannot be unpacked to its end may."""
    if path.is_symlink():
        return False
    if path.is_dir():
        return any(mentions(inner, word) for inner in path.iterdir())
    return path.is_file() and _is_in(path, word)


def _is_in(path: Path, word: bytes) -> bool:
    with path.open("rb") as file:
        is_compressed = file.read(len(COMPRESSED)) == COMPRESSED
        file.seek(0)
        if not is_compressed:
            return _holds(file, word)
        try:
            with gzip.open(file) as unpacked:
                return _holds(unpacked, word)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return True


def _holds(source: IO[bytes] | gzip.GzipFile, word: bytes) -> bool:
    end = b""
    while data := source.read(CHUNK):
        if word in end + data:
            return True
        end = data[-len(word) :]
    return False
