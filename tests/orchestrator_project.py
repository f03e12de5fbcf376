"""A project whose run is shown in the orchestrator's session file, and those who write that file too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import holdfast
from holdfast.core.model import Run
from holdfast.layouts.orchestrator import HISTORY, SESSION
from holdfast.layouts.orchestrator.schema import read_state, state_of
from holdfast.project.workspace import Workspace
from tests.orchestrator_files import File
from tests.sessions import run_of


def session_path(project: Workspace) -> Path:
    return project.root / SESSION


def session_of(project: Workspace) -> File:
    """The file as it stands."""
    found: File = json.loads(session_path(project).read_bytes())
    return found


def put_session(project: Workspace, file: Any) -> bytes:
    """Write the file as somebody else would."""
    path = session_path(project)
    path.parent.mkdir(exist_ok=True)
    data = file if isinstance(file, bytes) else json.dumps(file, indent=2).encode()
    path.write_bytes(data)
    return data


def edit(project: Workspace, **members: Any) -> None:
    """Change members of the file as somebody else would."""
    put_session(project, {**session_of(project), **members})


def orchestrate(project: Workspace, goal: str = "Add retries", **options: Any) -> Run:
    return holdfast.start(project, goal, layout="orchestrator", **options).run


def archived(project: Workspace) -> dict[str, File]:
    """What is in the history, by name."""
    return {path.name: json.loads(path.read_bytes()) for path in sorted((project.root / HISTORY).glob("*.json"))}


def agree(project: Workspace, run: str | None = None) -> Run:
    """The file says what the journal says."""
    found = run_of(project, run)
    file = session_of(project) if found.archived is None else json.loads((project.root / found.archived).read_bytes())
    said, meant = read_state(file), state_of(found)
    meant.updated = said.updated
    for worker in meant.agents:
        worker.progress = (worker.progress or 0) if worker.status == "in_progress" else None
        worker.started = worker.started and worker.started.replace(microsecond=0)
        worker.completed = worker.completed and worker.completed.replace(microsecond=0)
        worker.key = None
    meant.tokens = meant.tokens or 0
    assert said == meant
    return found
