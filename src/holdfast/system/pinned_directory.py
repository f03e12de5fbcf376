"""A directory that is kept open: whatever becomes of its name, what is done by way of it is done in the same one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.core.errors import KNOWN_AS, Trouble, known
from holdfast.system import files, safe_paths


def unchecked(_here: Path) -> None:
    """For a directory of which it is enough that it is ours."""


class Held:
    """A directory of the user's own, by a name that leads nowhere else as long as it is held.

    What is looked at is what is held, so nothing can be put in its place between the look and the use. A system that
    has no names for descriptors knows it by its own name only.
    """

    def __init__(self, path: Path, check: Callable[[Path], None] = unchecked) -> None:
        self.path = path
        self._name = str(path)
        self._check = check
        self._descriptor = open_private(path)
        # safeguard: pinned-store
        self.here = Path(f"{safe_paths.HELD}{self._descriptor}") if os.path.isdir(safe_paths.HELD) else path
        KNOWN_AS[str(self.here)] = known(str(path))
        self._note()
        try:
            check(self.here)
        except BaseException:
            self.close()
            raise

    def is_in_place(self) -> bool:
        """Whether its own name leads to it, and to nothing that took its place."""
        try:
            return self._identity == _identity(os.lstat(self._name))
        except OSError:
            return False

    def renew(self) -> None:
        """Hold what is in its place now, under the same name as before."""
        found = Held(self.path, self._check)
        try:
            os.dup2(found._descriptor, self._descriptor, inheritable=False)
            self._note()
        finally:
            found.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            KNOWN_AS.pop(str(self.here), None)
            os.close(self._descriptor)
            self._descriptor = -1

    def _note(self) -> None:
        self._identity = _identity(os.fstat(self._descriptor))

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()


def open_private(path: Path) -> int:
    """A descriptor of a directory of the user's own: the very one that was looked at."""
    try:
        with files.os_errors(path):
            descriptor = os.open(path, safe_paths.PASSING)
    except Trouble:
        files.check_private(path)  # says it better, if something else is there
        raise
    try:
        files.check_private(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
