"""Tasks of a run: add one, finish one, list them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.model import Draft, Task
from holdfast.core.text import as_tuple, checked
from holdfast.ingest.preview import previewed
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


class TaskAdded(Struct):
    run: str
    entry: str
    seq: int


class TaskDone(Struct):
    run: str
    entry: str
    changed: bool


class TasksListed(Struct):
    run: str
    tasks: list[Task]


@verb
def add_task(workspace: Workspace, text: str, *, run: str | None = None) -> TaskAdded:
    """Add a task to a run."""
    checked(text, "task")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = fold.entry_id(found, "task.added")
        (event,) = journal.append(found.id, Draft("task.added", {"entry": entry, "text": text}))
        return TaskAdded(found.id, entry, event.seq)


@verb
def finish_task(
    workspace: Workspace, task: str, *, outcome: str | None = None, files: Sequence[str] = (), run: str | None = None
) -> TaskDone:
    """Mark a task as done, with what came of it and the files it changed."""
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = select.get_entry([known.id for known in found.tasks], task, "t", "task")
        is_open = entry in {known.id for known in found.open_tasks}
        if is_open or outcome or files:
            body = {"entry": entry, "outcome": outcome, "files": list(as_tuple(files))}
            journal.append(found.id, Draft("task.done", body))
        return TaskDone(found.id, entry, is_open)


@previewed
@verb
def list_tasks(workspace: Workspace, *, run: str | None = None) -> TasksListed:
    """The tasks of a run, open and done."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run)
        return TasksListed(found.id, found.tasks)
