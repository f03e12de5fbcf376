"""What lies in a worktree and is no part of it: git's directories and our store, whatever they are called.

`git init --separate-git-dir=.gitdata .` and a bare repository in `.bare` put them beside the files. A checkpoint that
held them would take branches and the journal back with the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from holdfast.system.safe_paths import real_path
from holdfast.worktree.paths import is_within

ALWAYS = (b".git", b".holdfast")


def find_borders(root: Path, places: Iterable[Path | None]) -> tuple[bytes, ...]:
    """Those of the places that lie in the worktree, by their paths in it."""
    found = dict.fromkeys(ALWAYS)
    for place in filter(None, places):
        path = os.path.relpath(place, root)  # no link is on the way to most of them
        if not is_within(os.fsencode(path), found):
            path = os.path.relpath(real_path(place), real_path(root))
            found[os.fsencode(path)] = None
    return tuple(path for path in found if path != b"." and path.split(b"/")[0] != b"..")
