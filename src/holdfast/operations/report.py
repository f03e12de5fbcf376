"""Reports of a run: Markdown for a pull request, and an SVG timeline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.core import report as timeline
from holdfast.core.errors import Refused
from holdfast.core.fold import run as fold
from holdfast.core.fold.activity import Spent, total_usage
from holdfast.core.model import Checkpoint, Run, Session
from holdfast.core.report import recount
from holdfast.core.text import path_text
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.verb import verb
from holdfast.project.briefs import without_secrets
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files

SESSIONS, CHECKPOINTS = 1_000, 1_000  # the newest ones in a report
MODE = 0o644  # a timeline is made to be shared
HEAD = 512  # bytes of a file that identify our own timeline


class Reported(Struct):
    run: str
    markdown: str
    spent: Spent  # by all sessions of the run


class Pictured(Struct):
    run: str
    path: str | None  # of the file; null: it was not written
    svg: str


@verb("show --markdown", changes=False, previews=True)
def report(workspace: Workspace, run: Annotated[str | None, argument(kind=Kind.RUN)] = None) -> Reported:
    """Print a report of a run in Markdown, fit for a pull request.

    It lists the work, decisions, changed files, open tasks, sessions and cost.
    """
    found, sessions, checkpoints = _gather(workspace, run)
    return Reported(found.id, recount(found, sessions, checkpoints), total_usage(sessions))


@verb("show --svg", changes=False, previews=True)
def picture(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    file: Annotated[
        str | None,
        option(
            "--svg", metavar="FILE", kind=Kind.OUTPUT, help="Write a run's timeline into an SVG file; `-`: print it."
        ),
    ] = None,
) -> Pictured:
    """Draw a run's sessions over time, in SVG, into a file if one is named."""
    found, sessions, checkpoints = _gather(workspace, run)
    with workspace.reading() as journal:
        events = fold.without(journal.events(found.id), set(found.forgotten))
        events = (without_secrets(workspace, event) for event in events)  # safeguard: hide-picture-events
        svg = timeline.draw(found, sessions, timeline.marks_of(events, checkpoints))
    if file is None:
        return Pictured(found.id, None, svg)
    path = Path(file).absolute()
    with files.os_errors(path):
        _refuse_to_replace(path)
        files.write(path, svg.encode(), MODE)
    return Pictured(found.id, path_text(path), svg)


def _refuse_to_replace(path: Path) -> None:
    """Refuse to overwrite anything but an earlier timeline or an empty file: a typo must not destroy work."""
    if not os.path.lexists(path):
        return
    facts = [("path", path_text(path))]
    if path.is_symlink() or not path.is_file():
        raise Refused("There is something other than a file", facts, ["name another file"])
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head and not timeline.is_drawn(head):  # safeguard: picture-place-taken
        raise Refused("There is something other than a timeline of ours", facts, ["name a new file"])


def _gather(workspace: Workspace, name: str | None) -> tuple[Run, list[Session], list[Checkpoint]]:
    with workspace.reading() as journal:
        run = select.get_run(workspace, journal, name)
        sessions = journal.list_sessions(run.id, limit=SESSIONS)
        checkpoints = list(journal.list_checkpoints(run=run.id, limit=CHECKPOINTS))
    return (
        without_secrets(workspace, run),  # safeguard: hide-report-run
        [without_secrets(workspace, session) for session in reversed(sessions)],  # safeguard: hide-report-sessions
        # safeguard: hide-report-checkpoints
        [without_secrets(workspace, checkpoint) for checkpoint in reversed(checkpoints)],
    )
