"""A head start: git looks for changed files while Python still loads what will ask for the answer.

Nothing is known yet about the store, so nothing in it is believed: git runs in a directory of the program's own, and
only reads the private index. Whoever needs the answer takes it if that index is still the same; nobody has to.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core import ids
from holdfast.core.errors import HoldfastError
from holdfast.core.text import path_text
from holdfast.system import files, locate
from holdfast.system.git.command import SETTINGS, Git, Running
from holdfast.system.git.repository import Repository

CHANGED = ("diff-files", "-z", "--no-renames", "--ignore-submodules=all")

_begun: list[tuple[Path, tuple[int, int, int], Running]] = []


def begin() -> None:
    """Start looking at the worktree that we stand in, if it was looked at before."""
    try:
        root, place = locate.locate_store(os.getcwd())
        index = Path(place, "worktrees", ids.file_name(path_text(locate.worktree_name(root))), "index")
        now = files.signature(index)
        if now is not None and os.environ.get("HOLDFAST") != "0":
            repository = Repository(Path(root))
            form = repository.format()
            objects = repository.objects or Path(place, "git", "objects")
            git = Git(SETTINGS / form.name, Path(root), objects, index, form)
            _begun.append((index, now, git.start(*CHANGED)))
    except (HoldfastError, OSError):  # whoever needs the answer will meet the same trouble, and tell it
        return


def take(git: Git) -> Running:
    """The look at this index that has begun already, or one that begins now."""
    while _begun:
        index, before, running = _begun.pop()
        if index == git.index and before == files.signature(index):
            return running
        running.stop()
    return git.start(*CHANGED)
