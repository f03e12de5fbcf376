"""Mending a store: finding what is wrong, and putting together what can be put together. The store comes to no harm
by a kill at any point, and mending it again finds nothing to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Damaged
from holdfast.core.model import Checkpoint, Event
from holdfast.core.text import path_text
from holdfast.journal.backup_file import list_backups
from holdfast.journal.journal import Journal
from holdfast.journal.store import Reader, Writer
from holdfast.maintenance.repair.packs import reshelve
from holdfast.maintenance.repair.quarantine import mark_second_copy
from holdfast.maintenance.verify import Problem, check_runs, damaged_files, mark_problems, prove, rows_of
from holdfast.project.workspace import Workspace
from holdfast.system import files


class Mended(Struct):
    """What became of the store. `lost` is what is gone for good, `aside` where the damaged original is."""

    changed: bool = False
    mended: list[str] = []
    lost: list[str] = []
    aside: str | None = None


def mend(workspace: Workspace) -> Mended:
    """Look at every byte of the store, and mend what is wrong."""
    result = Mended(mended=[], lost=[])
    workspace.check_ours()
    patience = workspace.settings.number("store.deadline")
    with files.lock(workspace.place / "repair.lock", patience, "repair the store"):  # safeguard: lock-repair
        _finish(workspace, result)
        if problems := _database_problems(workspace):
            _rebuild(workspace, problems, result)
        _put_copies_aside(workspace, result)
        _mend_checkpoints(workspace, result)
    result.changed = bool(result.mended or result.lost)
    return result


def _finish(workspace: Workspace, result: Mended) -> None:
    """Let a database take its place that a killed repair or restore had ready."""
    store = workspace.store
    with store.locked():  # safeguard: lock-unfinished-repair
        if store.is_unfinished():
            aside = store.finish_replacing(workspace.place / "aside")
            result.mended.append("a database that was ready took its place")
            result.aside = path_text(aside.relative_to(workspace.place)) if aside else None


def _database_problems(workspace: Workspace) -> list[str]:
    try:
        problems = workspace.store.verify(lambda done, total: workspace.progress("reading pages", done, total))
        with workspace.reading() as journal:
            problems += Rebuilding(workspace).prove(journal.view)
            list(journal.list_checkpoints())
        return problems
    except Damaged as error:  # it stands in the middle of a sentence
        return [error.message[:1].lower() + error.message[1:]]


def _rebuild(workspace: Workspace, problems: list[str], result: Mended) -> None:
    store, place = workspace.store, workspace.place
    room = place / "rebuilding"
    shutil.rmtree(room, ignore_errors=True)
    files.make_private_directory(room)
    with store.locked():  # safeguard: lock-database-rebuilt
        built = store.rebuild(room, list_backups(place), place / "aside", Rebuilding(workspace))
    shutil.rmtree(room, ignore_errors=True)
    said = "" if len(problems) == 1 else f", and {len(problems) - 1:,} more"
    result.mended.append(f"the database was built anew with {built.events:,} events, because {problems[0]}{said}")
    result.mended += [f"events were taken from {name}" for name in built.sources]
    result.lost += built.lost
    if built.aside is not None:
        result.aside = path_text(built.aside.relative_to(place))
        if not built.lost:
            mark_second_copy(built.aside)


class Rebuilding:
    """Events added by way of a journal, which hides secrets and folds; then everything folded is compared."""

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
    """Copies and backups that are damaged never count; they only go out of the way."""
    for path in damaged_files(workspace.place):
        place = workspace.place / "aside" / "copies"
        for directory in (place.parent, place):
            files.make_private_directory(directory)
        with files.os_errors(path):
            os.utime(path)  # from now on it is kept for some time
            os.rename(path, _free(place / path.name))
        result.mended.append(f"{path_text(path.relative_to(workspace.place))} was damaged and went aside")


def _free(path: Path) -> Path:
    number, free = 2, path
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free


def _mend_checkpoints(workspace: Workspace, result: Mended) -> None:
    with workspace.reading() as journal:
        found = list(journal.list_checkpoints())
    if not _checkpoint_problems(workspace, found):
        return
    done = reshelve(workspace, found)
    result.mended += done.mended
    result.lost += done.lost


def _checkpoint_problems(workspace: Workspace, found: list[Checkpoint]) -> list[Problem]:
    return prove(workspace, found, deep=True).problems + list(mark_problems(workspace.place))
