"""What an agent did and was asked, for programs that tell us themselves instead of through hooks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.model import Body, Draft
from holdfast.core.text import as_tuple, checked
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

PROMPT_LIMIT = 1_000_000


class Recorded(Struct):
    run: str
    seq: int


@verb
def action(
    workspace: Workspace, text: str, *, files: Sequence[str] = (), line: int | None = None, run: str | None = None
) -> Recorded:
    """Record something that was done, and the files it touched; the line is one of the last file."""
    checked(text, "action")
    body: Body = {"text": text, "files": list(as_tuple(files))}
    if line is not None:
        if not body["files"] or line < 1:
            raise WrongUsage("A line is one of a file, from 1", [("line", line)], ["name the file too: `--file F`"])
        body["line"] = line
    return _record(workspace, run, Draft("action.taken", body))


@verb
def error(workspace: Workspace, text: str, *, run: str | None = None) -> Recorded:
    """Record an error that was met; the next session is told of it."""
    checked(text, "error")
    return _record(workspace, run, Draft("error.met", {"text": text}))


@verb
def prompt(workspace: Workspace, text: str, *, run: str | None = None) -> Recorded:
    """Record what the agent was asked."""
    checked(text, "prompt", PROMPT_LIMIT)
    return _record(workspace, run, Draft("prompt.given", {"text": text}))


def _record(workspace: Workspace, run: str | None, draft: Draft) -> Recorded:
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        (event,) = journal.append(found.id, draft)
        return Recorded(found.id, event.seq)
