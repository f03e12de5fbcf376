"""Whether a worktree has a board."""

from __future__ import annotations

import os

from holdfast.project.workspace import Workspace

from .rules import BOARD


def is_present(workspace: Workspace) -> bool:
    return os.path.exists(f"{workspace.root}/{BOARD}") or os.path.exists(f"{workspace.worktree_place}/{BOARD}")


def list_files(workspace: Workspace) -> list[str]:
    return [BOARD] if os.path.exists(f"{workspace.root}/{BOARD}") else []
