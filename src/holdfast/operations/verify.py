"""Prove that the store is whole: every reference, every value, every fold against what is stored of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import Damaged
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import layouts
from holdfast.maintenance.verify import Problem as Problem, check_runs, files_of, prove, rows_of
from holdfast.operations.parameters import option
from holdfast.operations.verb import Group, verb
from holdfast.project import inbox
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace


class Verified(Struct):
    runs: int
    events: int
    problems: list[Problem]
    set_aside: int
    checkpoints: int = 0
    objects: int = 0  # that were read, with `--deep`
    promised: int = 0  # objects that a partial clone has not fetched yet, with `--deep`
    faces: list[Problem] = []  # damaged files that show runs to another system
    unread: int = 0  # kept calls that cannot be read for the moment


@verb(
    group=Group.CARE,
    example="holdfast verify --deep",
    about="prove that the store is whole",
    common=True,
    changes=False,
    syncs=False,
)
def verify(
    workspace: Workspace,
    *,
    deep: Annotated[
        bool, option(help="Also read every byte: database, search index, objects, copies of files, backups.")
    ] = False,
) -> Verified:
    """Prove that the store is whole. It changes nothing; exit code 12 says that something is damaged."""
    result = Verified(0, 0, [], len(inbox.aside(workspace.inbox)), unread=len(inbox.unread(workspace.inbox)))
    if told := tombstones.unfinished_purge(workspace.here):
        workspace.warn(told)
    if deep:
        result.problems += files_of(workspace)
    with workspace.reading() as journal:
        result.problems += [Problem("database", text) for text in journal.view.problems()]
        if deep:
            result.problems += rows_of(journal)
        checked = check_runs(journal, lambda done, total: workspace.progress("verifying runs", done, total))
        result.runs, result.events = checked.runs, checked.events
        result.problems += checked.problems
        _check_checkpoints(workspace, journal, deep, result)
    for layout in layouts():
        result.faces += [Problem(found.path, f"{found.why}; {found.remedy}") for found in layout.damages(workspace)]
    return result


def _check_checkpoints(workspace: Workspace, journal: Journal, deep: bool, result: Verified) -> None:
    try:
        found = list(journal.list_checkpoints())
    except Damaged as error:
        result.problems.append(Problem("checkpoints", error.message))
        return
    proof = prove(workspace, found, deep)
    result.checkpoints, result.objects, result.promised = len(found), proof.objects, proof.promised
    result.problems += proof.problems
