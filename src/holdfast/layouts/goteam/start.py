"""Beginning a Go Team run: its id, and its plan."""

from __future__ import annotations

from holdfast.core import ids
from holdfast.journal.journal import Journal
from holdfast.project.workspace import Workspace


def make_id(workspace: Workspace, journal: Journal) -> str:
    return next(id for _ in range(100) if journal.find_run(id := f"session-{ids.make('x')[2:8]}") is None)


def default_steps(workspace: Workspace) -> tuple[str, ...]:
    return tuple(workspace.settings.words("go_team.steps"))
