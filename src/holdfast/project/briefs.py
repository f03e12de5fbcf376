"""The brief of a session: the state of the run, the drift of the worktree, and the declared artifacts."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from holdfast.core.brief import Brief, plan_brief
from holdfast.core.model import Run, Session
from holdfast.project.artifacts.declared import read_artifacts
from holdfast.project.drift import find_drift
from holdfast.project.sessions import find_leftovers
from holdfast.project.workspace import Workspace

T = TypeVar("T", bound=Struct)
PATIENCE = 1.0  # seconds to wait for another scan of the worktree


def without_secrets(workspace: Workspace, record: T) -> T:
    """Redact a record, before its texts are truncated."""
    return msgspec.convert(workspace.hide(msgspec.to_builtins(record)), type(record))


def make_brief(workspace: Workspace, run: Run, last: Session | None, budget: int, *, runs: bool = False) -> Brief:
    """Make the brief of a session that follows `last`. It is redacted, since an older store may hold secrets.

    Trusted commands of artifacts are executed only with `runs`.
    """
    bearings = find_drift(workspace, run, PATIENCE) if run.worktree == workspace.worktree else None
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
