"""Whether anybody still calls us: where settings lost our calls, all looks well and nothing is recorded."""

from __future__ import annotations

from holdfast.claude import client
from holdfast.text import path_text
from holdfast.workspace import Workspace


def warn_if_lost(workspace: Workspace) -> None:
    """Say that the calls that `init` made are gone, and how they come back."""
    lost = client.find_lost(workspace.root, workspace.environ, workspace.user_directory("state"))
    if lost is not None and not workspace.is_off:
        scope, path = lost
        workspace.warn(
            f"Claude Code is not recorded here any more: our calls are gone from {path_text(path)}, by `git clean -fdx`"
            f" perhaps; `holdfast init --scope {scope}` puts them back, `holdfast uninit` says that it is meant so"
        )
