"""The backups that are made by themselves, of which the last two are kept: a name for the next, and which ones go.

Their order is told by a number, and not by a date: once the clock was set back, the one just made would be the oldest.
"""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.system import files

KEPT = 2  # of each kind
NAME = re.compile(r".*-([0-9]{8}-[0-9]{6})(?:-([0-9]{1,9}))?\.tar\.gz")  # earlier versions gave no numbers


def next_place(directory: Path, kind: str, what: str) -> Path:
    """A place that no backup of this kind has, after all of them. Whoever calls this is the only one to make one."""
    last = max((_age(path)[0] for path in _found(directory, kind)), default=0)
    return directory / f"{kind}{what}-{last + 1}.tar.gz"


def drop_earlier(made: Path, kind: str) -> None:
    """Remove all but the one that was just made, which stays whatever it is called, and the last before it."""
    others = [path for path in _found(made.parent, kind) if path.name != made.name]
    for old in sorted(others, key=_age)[: 1 - KEPT]:
        files.remove(old)


def _found(directory: Path, kind: str) -> list[Path]:
    return [path for path in directory.glob(f"{kind}*.tar.gz") if NAME.fullmatch(path.name)]


def _age(path: Path) -> tuple[int, str]:
    found = NAME.fullmatch(path.name)
    return (int(found[2] or 0), found[1]) if found else (0, "")
