"""Mend what is damaged: the store, then the run's files of another system, each from the best copies that are left.

A Go Team run's files, and the orchestrator's, are made anew from the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import structs

from holdfast.core.errors import Ambiguous, HoldfastError, NotFound
from holdfast.core.model import Run
from holdfast.layouts.protocol import FilesRepaired, Layout, Rebuilt as Rebuilt
from holdfast.layouts.registry import find_layout, layouts
from holdfast.maintenance.repair.repair import Mended as Mended, repair_store
from holdfast.operations.parameters import YES, Kind, argument, option
from holdfast.operations.verb import Group, synced, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files


class Repaired(FilesRepaired):
    store: Mended | None = None  # what became of the store; null: there is none


@verb(
    group=Group.CARE,
    example="holdfast repair",
    about="mend the store, and damaged files of a run",
    syncs=False,
    options=(YES,),
)
def repair(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    *,
    keep: Annotated[bool, option(help="Take the file as it is, though it was turned back.")] = False,
) -> Repaired:
    """Mend the store from what is left of it and from backups, then a run's damaged files of another system.

    A FABER run's come from their best copy, those of a Go Team run or the orchestrator from the journal. What is
    damaged stays aside; what is lost is said.
    """
    with files.os_errors():
        store = repair_store(workspace) if workspace.exists else None
    try:
        result = Repaired(**structs.asdict(_repair_files(workspace, run, keep=keep)))
    except HoldfastError as error:
        if run is not None or store is None or not isinstance(error, NotFound | Ambiguous):
            error.facts += _told(store)
            raise
        result = Repaired(None, None, changed=False)  # nobody asked for a file
    result.store = store
    return result


def _told(store: Mended | None) -> Iterator[tuple[str, str]]:
    """What became of the store, for who hears that a file cannot be mended."""
    if store is not None:
        yield from (("mended", what) for what in store.mended)
        yield from (("lost", what) for what in store.lost)
        yield from [("the damaged database", store.aside)] if store.aside else []


@synced
def _repair_files(workspace: Workspace, run: str | None, *, keep: bool) -> FilesRepaired:
    """Let the run's layout put its damaged files back; or `keep` them as they are."""
    layout, known = _find(workspace, run)
    return layout.repair(workspace, run, known, keep=keep)


def _find(workspace: Workspace, run: str | None) -> tuple[Layout, Run | None]:
    """The run that is meant, where the journal knows it, and the layout that has files of it."""
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
