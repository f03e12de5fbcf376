"""The ways to go on with a Go Team run in this repository: those of `recovery`, without code that is not here."""

from __future__ import annotations

import re

from msgspec import structs

from holdfast.core.errors import HoldfastError
from holdfast.core.fold import team
from holdfast.core.model import Kept, Run
from holdfast.core.recovery import CHECKPOINT, LIVE, Option, options
from holdfast.core.text import one_line
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import Shadow

COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def list_ways(workspace: Workspace, run: Run) -> list[Option]:
    """The ways, as files and screens show them. A checkpoint whose code is not in the repository is not recommended."""
    found, point = options(run), team.last_kept(run)
    if point is None or has_code(workspace, point):
        return found
    return [_without_code(way, point.commit) for way in found]


def has_code(workspace: Workspace, kept: Kept) -> bool:
    """Whether the code of a point can be brought back: it is a checkpoint of ours, or its commit is here."""
    if kept.checkpoint is not None or not COMMIT.fullmatch(kept.commit or ""):
        return kept.checkpoint is not None
    try:
        with shadow_of(workspace) as shadow:
            return tree_of(shadow, kept.commit or "") is not None
    except HoldfastError:  # another process holds the shadow, or git does not answer: the restore itself will tell
        return True


def tree_of(shadow: Shadow, commit: str) -> str | None:
    data = shadow.reader.read(commit)
    first = data.partition(b"\n")[0] if data else b""
    return first[5:].decode("ascii", "replace") if first.startswith(b"tree ") else None


def _without_code(way: Option, commit: str | None) -> Option:
    if way.type == CHECKPOINT:
        loss = f"its code is not in this repository (commit {one_line(commit or 'none', 64)})"
        return structs.replace(way, data_loss=loss, actions=None, recommended=False)
    return structs.replace(way, recommended=way.type == LIVE)
