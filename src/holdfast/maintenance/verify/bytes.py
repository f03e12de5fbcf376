"""Looking at every byte of a store: what `verify --deep` does beyond folding. Nothing here is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.event_text import searchable
from holdfast.core.text import path_text
from holdfast.journal import backup_file
from holdfast.journal.journal import Journal
from holdfast.journal.rows import event_of
from holdfast.journal.store import EventRow
from holdfast.maintenance.verify.checkpoints import Problem
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git import objects

COPY = re.compile(r"[0-9]{8}-[0-9a-f]{64}")


def files_of(workspace: Workspace) -> Iterator[Problem]:
    """What is wrong with the files of a store: the database's pages and log, copies of faces, backups, our mark."""

    def told(done: int, total: int) -> None:
        workspace.progress("reading the database", done, total)

    for text in workspace.store.verify(told):
        yield Problem("database", text)
    for path in damaged_files(workspace.place):
        yield Problem(path_text(path.relative_to(workspace.place)), "this copy is not what was kept")
    yield from mark_problems(workspace.place)


def damaged_files(place: Path) -> Iterator[Path]:
    """Copies of faces and backups that are not what they were."""
    for path in sorted((place / "faces").glob("*/*")):
        if COPY.fullmatch(path.name) and not _is_copy(path):
            yield path
    for path in backup_file.list_backups(place):
        try:
            backup_file.read_archive(path, lambda _: None)
        except HoldfastError:
            yield path


def mark_problems(place: Path) -> Iterator[Problem]:
    mark = files.read(place / "git" / "keep", 64)
    if mark is not None and mark != objects.KEEP:
        yield Problem("git/keep", "what marks our packs has changed")


def rows_of(journal: Journal) -> Iterator[Problem]:
    """What is wrong with the tables as such, and with the search index."""
    for text in journal.view.schema_problems():
        yield Problem("database", text)
    forgotten: dict[str, set[int]] = {}

    def words(row: EventRow) -> str:
        if row.run not in forgotten:
            run = journal.find_run(row.run)
            forgotten[row.run] = set(run.forgotten) if run else set()
        return "" if row.seq in forgotten[row.run] else searchable(event_of(row, journal.view.blob))

    try:
        for text in journal.view.index_problems(words):
            yield Problem("search", text)
    except Damaged as error:  # the run that has it is named by itself
        yield Problem("search", f"the search index cannot be compared: {error.message}")


def _is_copy(path: Path) -> bool:
    try:
        data = files.read(path)
    except HoldfastError:
        return False
    return data is not None and files.digest(data) == path.name.partition("-")[2]
