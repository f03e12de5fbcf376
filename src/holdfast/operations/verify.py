"""Prove that the store is whole: every reference, every value, every fold against what is stored of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec import Struct

from holdfast.core.errors import Damaged
from holdfast.core.text import path_text
from holdfast.ingest.catch_up import has_files
from holdfast.journal.journal import Journal
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.layouts.goteam.files import damages
from holdfast.layouts.json_file import Unreadable, read_face
from holdfast.layouts.orchestrator.files import read_session
from holdfast.layouts.orchestrator.follow import SESSION
from holdfast.maintenance.verify import Problem as Problem, check_runs, files_of, prove, rows_of
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


def verify(workspace: Workspace, *, deep: bool = False) -> Verified:
    """Look at everything that is stored, with `deep` also at every byte of it: each page of the database, the search
    index, each object that checkpoints need, copies of files, backups.

    It changes nothing, so it does not take in what hooks have kept either.
    """
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
        result.faces += _damaged_states(workspace, journal)
    result.faces += _damaged_session(workspace)
    for found in damages(workspace):
        way = f"holdfast repair {found.run}" if found.run else "holdfast repair"
        where = path_text(found.path.relative_to(workspace.root))
        result.faces.append(Problem(where, f"{found.why}; `{way}` makes it anew"))
    return result


def _damaged_states(workspace: Workspace, journal: Journal) -> Iterator[Problem]:
    """States of FABER's runs that cannot be read. One that the journal never heard of is not ours to judge."""
    for name, path in schema.list_states(workspace.root) if has_files(workspace) else ():
        try:
            if journal.find_run(journal_id(name)) is not None:
                read_face(path, root=workspace.root)
        except Unreadable as error:
            where = path_text(path.relative_to(workspace.root))
            way = error.remedy(f"`holdfast repair {shlex.quote(name)}` puts the best copy back")
            yield Problem(where, f"{error.why}; {way}")
        except Damaged:  # the run that has it is named by itself
            continue


def _damaged_session(workspace: Workspace) -> Iterator[Problem]:
    """The orchestrator's file, if it cannot be read."""
    try:
        read_session(workspace)
    except Unreadable as error:
        way = error.remedy("`holdfast repair` makes it anew, `holdfast continue` offers other ways")
        yield Problem(SESSION, f"{error.why}; {way}")


def _check_checkpoints(workspace: Workspace, journal: Journal, deep: bool, result: Verified) -> None:
    try:
        found = list(journal.list_checkpoints())
    except Damaged as error:
        result.problems.append(Problem("checkpoints", error.message))
        return
    proof = prove(workspace, found, deep)
    result.checkpoints, result.objects, result.promised = len(found), proof.objects, proof.promised
    result.problems += proof.problems
