"""Whether a worktree has the orchestrator's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.layouts.orchestrator.rules import HISTORY, SESSION

if TYPE_CHECKING:  # a quick look that every command takes
    from holdfast.project.workspace import Workspace

MEMORY = "session.json"  # what was last written, in the store


def is_present(workspace: Workspace) -> bool:
    return os.path.exists(f"{workspace.root}/{SESSION}") or os.path.exists(f"{workspace.worktree_place}/{MEMORY}")


def list_files(workspace: Workspace) -> list[str]:
    return [name for name in (SESSION, HISTORY) if os.path.exists(f"{workspace.root}/{name}")]


def has_archive(workspace: Workspace) -> bool:
    return (workspace.root / HISTORY).is_dir()
