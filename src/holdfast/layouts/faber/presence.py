"""Whether a worktree has FABER's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a quick look that every command takes
    from holdfast.project.workspace import Workspace

HOME = ".fractary"


def has_sessions(root: str) -> bool:
    return os.path.isdir(os.path.join(root, HOME))


def is_present(workspace: Workspace) -> bool:
    return has_sessions(str(workspace.root))


def list_files(workspace: Workspace) -> list[str]:
    return [HOME] if is_present(workspace) else []
