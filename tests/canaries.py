"""Looking for a word in every byte of a store: as it stands, expanded, and in every object of git's."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

BEGINNING = re.compile(rb"\x78[\x01\x5e\x9c\xda]")  # of something that zlib has compressed
LONGEST = 1 << 24


def hits(place: Path, word: str) -> list[str]:
    """Where below a store, or in the objects of its repository, a word is found."""
    wanted = word.lower().encode()
    found = [f"{path.relative_to(place)}: {how}" for path in files_of(place) for how in found_in(path, wanted)]
    for objects in (place.parent / "objects", place / "git/objects"):
        if objects.is_dir():
            found += [f"{objects}: an object"] * (wanted in everything_in(place, objects).lower())
            found += [f"{path}: name" for path in files_of(objects) if wanted in path.name.lower().encode()]
    return found


def files_of(place: Path) -> list[Path]:
    return [Path(directory, name) for directory, _, names in os.walk(place) for name in names]


def found_in(path: Path, wanted: bytes) -> Iterator[str]:
    if wanted in os.fsencode(path).lower():
        yield "its name"
    try:
        data = path.read_bytes()
    except OSError:  # a pipe, a link to nowhere
        return
    if wanted in data.lower():
        yield "as it stands"
    if data[:2] == b"\x1f\x8b" and wanted in gzip.decompress(data).lower():
        yield "inside"
    if any(wanted in expanded(data, start.start()).lower() for start in BEGINNING.finditer(data)):
        yield "compressed"


def expanded(data: bytes, start: int) -> bytes:
    """What could be a compressed value that begins here, as far as it can be read."""
    decoder, out = zlib.decompressobj(), b""
    for at in range(start, min(len(data), start + 65536), 512):
        try:
            out += decoder.decompress(data[at : at + 512], LONGEST)
        except zlib.error:
            break
        if decoder.eof:
            break
    return out


def everything_in(place: Path, objects: Path) -> bytes:
    """The content of every object, packed or loose, reachable or not."""
    done = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        env={"PATH": os.environ["PATH"], "GIT_DIR": str(place / "git"), "GIT_OBJECT_DIRECTORY": str(objects)},
        capture_output=True,
        check=False,
    )
    return done.stdout
