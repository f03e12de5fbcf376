"""Whether a worktree has the Go Team's files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a quick look that every command takes
    from holdfast.project.workspace import Workspace

SEEN = "team.json"  # what was last written, in the store


def is_present(workspace: Workspace) -> bool:
    """Whether the worktree has runs of the Go Team, or files of theirs that were never read."""
    seen = f"{workspace.worktree_place}/{SEEN}"
    return os.path.exists(seen) or os.path.exists(f"{workspace.root}/{_root(workspace)}/sessions.json")


def list_files(workspace: Workspace) -> list[str]:
    return [_root(workspace)] if is_present(workspace) else []


def _root(workspace: Workspace) -> str:
    return str(workspace.settings.values["go_team.root"].value)
