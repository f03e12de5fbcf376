"""Prefetch: git searches for changed files while Python still loads the code that needs the answer.

The store is not trusted yet: git runs in the program's own directory, and only reads the private index. The answer is
used only if that index is still the same.
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
    """Start searching the current worktree, if it was scanned before."""
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
    except (HoldfastError, OSError):  # the command will meet the same error, and report it
        return


def take(git: Git) -> Running:
    """Return the search of this index that is running already, or a new one."""
    while _begun:
        index, before, running = _begun.pop()
        if index == git.index and before == files.signature(index):
            return running
        running.stop()
    return git.start(*CHANGED)
