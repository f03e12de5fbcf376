"""Holdfast as a user has it: alone with the libraries it needs, and not beside the tools of its developers.

Those tools are noticed by libraries that we load, and make each start of ours slower: measured, by a third.
"""

from __future__ import annotations

import functools
import re
import sys
import tempfile
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import holdfast

SCRIPT = "#!{python}\nimport sys\nfrom holdfast.__main__ import main\n\nsys.exit(main())\n"


@functools.cache
def program() -> str:
    """The `holdfast` command of an installation that lasts as long as we do."""
    directory = tempfile.TemporaryDirectory(prefix="holdfast-bench-installed-", ignore_cleanup_errors=True)
    _KEPT.append(directory)
    place = Path(directory.name)
    venv.create(place, symlinks=True)
    packages = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "holdfast").symlink_to(Path(holdfast.__file__).parent)
    for path in {path for needed in _needed("holdfast") for path in _top(needed)}:
        (packages / path.name).symlink_to(path)
    script = place / "bin" / "holdfast"
    script.write_text(SCRIPT.format(python=place / "bin" / "python"))
    script.chmod(0o755)
    return str(script)


def python() -> str:
    """The interpreter of that installation."""
    return str(Path(program()).parent / "python")


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _needed(name: str, seen: set[str] | None = None) -> Iterator[Distribution]:
    """What a distribution needs to run, and what that needs; not what only its developers need."""
    seen = set() if seen is None else seen
    for requirement in distribution(name).requires or []:
        found = re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)[0].lower()
        if "extra ==" in requirement or found in seen:
            continue
        seen.add(found)
        try:
            yield distribution(found)
        except PackageNotFoundError:  # for another platform
            continue
        yield from _needed(found, seen)


def _top(found: Distribution) -> Iterator[Path]:
    for file in found.files or []:
        if file.parts[0] not in ("..", "__pycache__") and not file.parts[0].endswith(".dist-info"):
            yield Path(str(found.locate_file(file.parts[0])))
