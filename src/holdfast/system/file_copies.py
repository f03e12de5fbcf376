"""Earlier versions of files that other programs write too: two of each, in a directory of the user's own."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.errors import Refused
from holdfast.system import files

KEPT = 2


class Generations:
    """The last few good versions of files that others may damage, kept for the user alone."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def keep(self, path: Path, data: bytes) -> None:
        """Keep this version of `path`; only the newest few stay."""
        place = self.place_of(path)
        files.make_private_directory(self.directory)
        files.make_private_directory(place)
        numbers, named = self._numbers(path), files.digest(data)
        if numbers and numbers[-1].endswith(f"-{named}") and self._load(place / numbers[-1]) == data:
            return
        number = int(numbers[-1].partition("-")[0]) + 1 if numbers else 1
        files.write(place / f"{number:08d}-{named}", data, files.PRIVATE_FILE)
        good = [name for name in numbers if self._load(place / name) is not None]
        for old in good[: 1 - KEPT]:
            files.remove(place / old)

    def find(self, path: Path) -> list[bytes]:
        """The versions that are whole, the newest first. A damaged one is never offered."""
        found = (self._load(self.place_of(path) / name) for name in reversed(self._numbers(path)))
        return [data for data in found if data is not None]

    def place_of(self, path: Path) -> Path:
        return self.directory / files.digest(os.fsencode(path.absolute()))[:32]

    def _numbers(self, path: Path) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.place_of(path)) if name[:1].isdigit())
        except FileNotFoundError:
            return []

    def _load(self, path: Path) -> bytes | None:
        try:
            data = files.read(path)
        except Refused:  # something else stands in its place
            return None
        return data if data is not None and files.digest(data) == path.name.partition("-")[2] else None
