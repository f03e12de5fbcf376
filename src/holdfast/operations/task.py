"""Tasks of a run: add one, finish one, list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from holdfast.core.fold import run as fold
from holdfast.core.model import Draft, Task
from holdfast.core.text import as_tuple, checked
from holdfast.operations.parameters import Kind, RunName, argument, option
from holdfast.operations.verb import Group, family, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

family(
    "task",
    Group.TELL,
    about="add a task, finish one, list them",
    help="Tasks of a run: add one, finish one, list them.",
    example='holdfast task add "Write the tests"',
    common=True,
)


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


@verb("task add", example='holdfast task add "Write the tests"', prints="the entry's id")
def add_task(workspace: Workspace, text: Annotated[str, argument()], *, run: RunName = None) -> TaskAdded:
    """Add a task."""
    checked(text, "task")
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = fold.entry_id(found, "task.added")
        (event,) = journal.append(found.id, Draft("task.added", {"entry": entry, "text": text}))
        return TaskAdded(found.id, entry, event.seq)


@verb(
    "task done",
    example='holdfast task done t1 --outcome "12 tests, green" --files tests/test_client.py',
    aliases=("done",),
)
def finish_task(
    workspace: Workspace,
    task: Annotated[str, argument()],
    *,
    outcome: Annotated[str | None, option(metavar="TEXT", help="What came of it.")] = None,
    files: Annotated[
        Sequence[str], option(metavar="A,B", kind=Kind.LIST, help="The files it changed, with commas between.")
    ] = (),
    run: RunName = None,
) -> TaskDone:
    """Finish a task, with what came of it."""
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        entry = select.get_entry([known.id for known in found.tasks], task, "t", "task")
        is_open = entry in {known.id for known in found.open_tasks}
        if is_open or outcome or files:
            body = {"entry": entry, "outcome": outcome, "files": list(as_tuple(files))}
            journal.append(found.id, Draft("task.done", body))
        return TaskDone(found.id, entry, is_open)


@verb("task list", example="holdfast task list", changes=False, previews=True)
def list_tasks(workspace: Workspace, *, run: RunName = None) -> TasksListed:
    """The tasks of a run, open and done."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run)
        return TasksListed(found.id, found.tasks)
