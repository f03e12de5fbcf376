"""Maintenance of the store: verify, repair, tidy and sweep."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from msgspec import Struct, structs

from holdfast.core.errors import Ambiguous, Damaged, HoldfastError, NotFound
from holdfast.core.model import Run
from holdfast.ingest import catch_up
from holdfast.journal.journal import Journal
from holdfast.layouts.protocol import Layout
from holdfast.layouts.registry import find_layout, layouts
from holdfast.layouts.results import FilesRepaired, Rebuilt as Rebuilt
from holdfast.maintenance.prune import Tidied as Tidied, checkpoint_rules, tidy_up
from holdfast.maintenance.repair.repair import Mended as Mended, repair_store
from holdfast.maintenance.verify import Problem as Problem, check_runs, files_of, prove, rows_of
from holdfast.operations.parameters import YES, DryRun, Kind, argument, option
from holdfast.operations.verb import Group, synced, verb
from holdfast.project import inbox
from holdfast.project.quota import MEGABYTE
from holdfast.project.runs import select, tombstones
from holdfast.project.workspace import Workspace
from holdfast.system import files


class Verified(Struct):
    runs: int
    events: int
    problems: list[Problem]
    set_aside: int
    checkpoints: int = 0
    objects: int = 0  # with `--deep`: objects that were read
    promised: int = 0  # with `--deep`: objects that a partial clone has not fetched yet
    faces: list[Problem] = []  # damaged files that show runs to another system
    unread: int = 0  # calls in the inbox that cannot be read at present


@verb(group=Group.CARE, example="holdfast verify --deep", common=True, changes=False, syncs=False)
def verify(
    workspace: Workspace,
    *,
    deep: Annotated[
        bool, option(help="Also read every byte: database, search index, objects, copies of files, backups.")
    ] = False,
) -> Verified:
    """Check that the store is undamaged. Nothing is changed; exit code 12 means damage."""
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


class Repaired(FilesRepaired):
    store: Mended | None = None  # null: there is no store


@verb(group=Group.CARE, about="repair the store, and damaged files of a run", syncs=False, options=(YES,))
def repair(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    *,
    keep: Annotated[bool, option(help="Accept the file as it is, even though it was reverted.")] = False,
) -> Repaired:
    """Repair the store from its remains and from backups, then a run's damaged files of another system.

    Files of a FABER run come from their best copy, those of the Go Team and the orchestrator from the journal.
    Damaged originals are quarantined, and losses are listed.
    """
    with files.os_errors():
        store = repair_store(workspace) if workspace.exists else None
    try:
        result = Repaired(**structs.asdict(_repair_files(workspace, run, keep=keep)))
    except HoldfastError as error:
        if run is not None or store is None or not isinstance(error, NotFound | Ambiguous):
            error.facts += _facts(store)
            raise
        result = Repaired(None, None, changed=False)  # no run was named
    result.store = store
    return result


def _facts(store: Mended | None) -> Iterator[tuple[str, str]]:
    """Return the outcome for the store, for an error about the run's files."""
    if store is not None:
        yield from (("mended", what) for what in store.mended)
        yield from (("lost", what) for what in store.lost)
        yield from [("the damaged database", store.aside)] if store.aside else []


@synced
def _repair_files(workspace: Workspace, run: str | None, *, keep: bool) -> FilesRepaired:
    """Let the run's layout repair its damaged files, or `keep` them as they are."""
    layout, known = _find(workspace, run)
    return layout.repair(workspace, run, known, keep=keep)


def _find(workspace: Workspace, run: str | None) -> tuple[Layout, Run | None]:
    """Return the layout that has files of the run, and the run if the journal knows it."""
    for layout in layouts():
        if (name := run or layout.find_active(workspace)) and (id := layout.journal_id(name)):
            if not workspace.exists:
                return layout, None
            with workspace.reading() as journal:
                if run is not None and (found := journal.find_run(id)):
                    return find_layout(found.layout), found
    with workspace.reading() as journal:
        try:
            found = select.get_run(workspace, journal, run)
        except NotFound:
            having = [layout for layout in layouts() if run is not None and layout.has_state(workspace, run)]
            if not having:
                raise
            return having[0], None
    return find_layout(found.layout), found


@verb(group=Group.CARE, example="holdfast tidy --dry-run", about="prune old data, and free its space")
def tidy(
    workspace: Workspace,
    *,
    days: Annotated[
        int | None, option(least=0, most=36_500, metavar="N", help="Prune checkpoints older than N days.")
    ] = None,
    most: Annotated[int | None, option(least=1, most=10**9, metavar="N", help="Keep at most N a worktree.")] = None,
    megabytes: Annotated[
        int | None, option("--bytes", least=0, most=10**8, metavar="MB", help="Keep at most MB megabytes.")
    ] = None,
    dry_run: DryRun = False,
) -> Tidied:
    """Prune old checkpoints and tool output, and free their space. Open, named and pinned ones stay."""
    rules = checkpoint_rules(workspace)
    if days is not None:
        rules.oldest = timedelta(days=days)
    rules.most = rules.most if most is None else most
    rules.bytes = None if megabytes is None else megabytes * MEGABYTE
    return tidy_up(workspace, rules, dry_run=dry_run)


class Swept(Struct):
    taken_in: int
    set_aside: int
    interrupted: list[str]
    troubles: list[str]


@verb(group=Group.CARE, about="ingest waiting hook calls, mark dead sessions", syncs=False)
def sweep(workspace: Workspace) -> Swept:
    """Ingest the hook calls that wait in the inbox, and mark the sessions of dead processes as interrupted."""
    found = catch_up.catch_up(workspace)
    troubles = inbox.troubles(workspace.here)
    if troubles:
        workspace.reset_troubles()
    return Swept(found.taken_in, found.set_aside, found.interrupted, troubles)
