"""What an agent did and was asked, for programs that tell us themselves instead of through hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.model import Body, Draft
from holdfast.core.text import as_tuple, checked
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

PROMPT_LIMIT = 1_000_000


class Recorded(Struct):
    run: str
    seq: int


@verb(group=Group.TELL, example='holdfast action "Ran the migration" --file db/schema.sql', prints="the event's number")
def action(
    workspace: Workspace,
    text: Annotated[str, argument()],
    *,
    files: Annotated[
        Sequence[str], option("--file", metavar="F", help="A file that it touched. Can be repeated.")
    ] = (),
    line: Annotated[
        int | None, option(least=1, metavar="N", help="The line of the last file that is worked on.")
    ] = None,
    run: RunName = None,
) -> Recorded:
    """Record something that was done."""
    checked(text, "action")
    body: Body = {"text": text, "files": list(as_tuple(files))}
    if line is not None:
        if not body["files"] or line < 1:
            raise WrongUsage("A line is one of a file, from 1", [("line", line)], ["name the file too: `--file F`"])
        body["line"] = line
    return _record(workspace, run, Draft("action.taken", body))


@verb(group=Group.TELL, example='holdfast error "the build fails with E0433"', prints="the event's number")
def error(workspace: Workspace, text: Annotated[str, argument()], *, run: RunName = None) -> Recorded:
    """Record an error that was met."""
    checked(text, "error")
    return _record(workspace, run, Draft("error.met", {"text": text}))


@verb(None)
def prompt(workspace: Workspace, text: str, *, run: str | None = None) -> Recorded:
    """Record what the agent was asked."""
    checked(text, "prompt", PROMPT_LIMIT)
    return _record(workspace, run, Draft("prompt.given", {"text": text}))


def _record(workspace: Workspace, run: str | None, draft: Draft) -> Recorded:
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        (event,) = journal.append(found.id, draft)
        return Recorded(found.id, event.seq)
