"""Making a brief: what the run knows, what git shows, and the artifacts of the project, in one text."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from holdfast.core.brief import Brief, plan_brief
from holdfast.core.model import Run, Session
from holdfast.project.artifacts.declared import read_artifacts
from holdfast.project.drift import take_bearings
from holdfast.project.sessions import find_leftovers
from holdfast.project.workspace import Workspace

T = TypeVar("T", bound=Struct)
PATIENCE = 1.0  # seconds to wait for another process that looks at the worktree


def without_secrets(workspace: Workspace, record: T) -> T:
    """A run or another record as it may be told, before anything in it is cut to its length."""
    return msgspec.convert(workspace.hide(msgspec.to_builtins(record)), type(record))


def make_brief(workspace: Workspace, run: Run, last: Session | None, budget: int, *, runs: bool = False) -> Brief:
    """What a session on this run is told, after this last one. An older store may hold secrets: they stay there.

    Only where it `runs` commands are those of artifacts started that the user has allowed.
    """
    bearings = take_bearings(workspace, run, PATIENCE) if run.worktree == workspace.worktree else None
    with workspace.reading() as journal:
        left_over = find_leftovers(workspace, journal, run)
    artifacts, missing = read_artifacts(workspace, runs=runs)
    workspace.warnings += [f"a critical artifact cannot be read: {why}" for why in missing]
    # safeguard: hide-brief-artifacts
    artifacts = [structs.replace(found, text=workspace.hide(found.text)) for found in artifacts]
    return plan_brief(
        without_secrets(workspace, run),  # safeguard: hide-brief-run
        last and without_secrets(workspace, last),  # safeguard: hide-brief-session
        workspace.clock.now(),
        budget,
        bearings,
        artifacts,
        [f"process {left.pid}: {left.command} ({left.session})" for left in left_over],
        chance=workspace.chance,
    )
