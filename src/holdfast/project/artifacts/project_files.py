"""Critical artifacts: the files of a project that every brief carries, as far as there is room.

The list may come with the repository. So only regular files inside of it are read, and what they say is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.core.model import Artifact
from holdfast.system import safe_paths

LIMIT = 100_000  # bytes that are read of one


def read_artifacts(root: Path, paths: Iterable[str]) -> tuple[list[Artifact], list[str]]:
    """The artifacts that can be read, in the order given, and for each of the others why not."""
    found: list[Artifact] = []
    missing: list[str] = []
    for path in dict.fromkeys(paths):
        try:
            full = safe_paths.resolve(root, path).full
            data, _ = safe_paths.read(full, LIMIT)
            found.append(Artifact(path, safe_paths.decode(data), safe_paths.changed(full)))
        except (OSError, ValueError) as error:
            missing.append(f"{path}: {error.strerror if isinstance(error, OSError) else error}")
    return found, missing
