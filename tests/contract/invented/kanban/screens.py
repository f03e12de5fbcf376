"""The words of cards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from holdfast.core.model import Run, Status
from holdfast.project.workspace import Workspace

COLUMNS = {
    "ready": Status.CREATED,
    "doing": Status.ACTIVE,
    "parked": Status.PAUSED,
    "done": Status.COMPLETED,
}


def find_word(workspace: Workspace, run: Run) -> str:
    return next((word for word, status in COLUMNS.items() if status is run.status), "doing")


def banner(run: Run, now: datetime) -> Iterator[str]:
    yield f"# Card {run.id}: {run.goal}"
