"""Repair a store: find damage, and rebuild from intact parts. It is idempotent, and may be killed at any point."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.errors import Damaged
from holdfast.core.model import Event
from holdfast.core.text import path_text
from holdfast.journal.backup_file import list_backups
from holdfast.journal.journal import Journal
from holdfast.journal.store import Reader, Writer
from holdfast.maintenance.repair import quarantine
from holdfast.maintenance.repair.packs import Mended as Mended, repair_packs
from holdfast.maintenance.verify import check_runs, damaged_files, mark_problems, prove, rows_of
from holdfast.project.workspace import Workspace
from holdfast.system import files


def repair_store(workspace: Workspace) -> Mended:
    """Check every byte of the store, and repair the damage."""
    result = Mended(mended=[], lost=[])
    workspace.check_ours()
    patience = workspace.settings.number("store.deadline")
    with files.lock(workspace.place / "repair.lock", patience, "repair the store"):  # safeguard: lock-repair
        _finish(workspace, result)
        if problems := _database_problems(workspace):
            _rebuild(workspace, problems, result)
        _put_copies_aside(workspace, result)
        with workspace.reading() as journal:
            found = list(journal.list_checkpoints())
        if prove(workspace, found, deep=True).problems or any(mark_problems(workspace.place)):
            repair_packs(workspace, found, result)
    result.changed = bool(result.mended or result.lost)
    return result


def _finish(workspace: Workspace, result: Mended) -> None:
    """Complete a replacement of the database that a killed repair or restore had prepared."""
    store = workspace.store
    with store.locked():  # safeguard: lock-unfinished-repair
        if store.is_unfinished():
            aside = store.finish_replacing(workspace.place / "aside")
            result.mended.append("an interrupted replacement of the database was completed")
            result.aside = path_text(aside.relative_to(workspace.place)) if aside else None


def _database_problems(workspace: Workspace) -> list[str]:
    try:
        problems = workspace.store.verify(lambda done, total: workspace.progress("reading pages", done, total))
        with workspace.reading() as journal:
            problems += Rebuilding(workspace).prove(journal.view)
            list(journal.list_checkpoints())
        return problems
    except Damaged as error:  # quoted in the middle of a sentence
        return [error.message[:1].lower() + error.message[1:]]


def _rebuild(workspace: Workspace, problems: list[str], result: Mended) -> None:
    store, place = workspace.store, workspace.place
    with files.working_directory(place / "rebuilding") as room, store.locked():  # safeguard: lock-database-rebuilt
        built = store.rebuild(room, list_backups(place), place / "aside", Rebuilding(workspace))
    said = "" if len(problems) == 1 else f", and {len(problems) - 1:,} more"
    result.mended.append(f"the database was rebuilt with {built.events:,} events, because {problems[0]}{said}")
    result.mended += [f"events were taken from {name}" for name in built.sources]
    result.lost += built.lost
    if built.aside is not None:
        result.aside = path_text(built.aside.relative_to(place))
        if not built.lost:
            files.write(built.aside / quarantine.MARK, b"")


class Rebuilding:
    """Callbacks of a rebuild: events are added through a journal, which redacts and folds; the result is verified."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.now = workspace.clock.now

    def add(self, view: Writer, events: list[Event]) -> None:
        journal = self._journal(view)
        for event in events:
            journal.replay(event.run, [event])
        journal.flush()

    def prove(self, view: Reader) -> list[str]:
        journal = self._journal(view)
        found = [*rows_of(journal), *check_runs(journal, lambda *_: None).problems]
        return [*view.problems(), *(f"{problem.where}: {problem.what}" for problem in found)]

    def progress(self, done: int, total: int) -> None:
        self._workspace.progress("rebuilding the journal", done, total)

    def _journal(self, view: Reader) -> Journal:
        # safeguard: hide-rebuilt-store
        return Journal(view, self._workspace.clock, self._workspace.clean, self._workspace.rules_of)


def _put_copies_aside(workspace: Workspace, result: Mended) -> None:
    """Quarantine damaged copies and backups."""
    for path in damaged_files(workspace.place):
        place = workspace.place / "aside" / "copies"
        for directory in (place.parent, place):
            files.make_private_directory(directory)
        with files.os_errors(path):
            os.utime(path)  # its time in quarantine begins now
            os.rename(path, _free(place / path.name))
        result.mended.append(f"{path_text(path.relative_to(workspace.place))} was damaged and is quarantined")


def _free(path: Path) -> Path:
    number, free = 2, path
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free
