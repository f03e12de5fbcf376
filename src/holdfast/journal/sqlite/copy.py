"""Copy a database to a new file while other processes write to it, and replace a database atomically."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from holdfast.core.errors import Damaged
from holdfast.journal.sqlite.connection import (
    SUMMED,
    WAYS,
    connect,
    name_for_sqlite,
    replacement_path,
    set_journal_mode,
    translated,
)
from holdfast.journal.sqlite.page_checksums import log_path, record_all, sums_path
from holdfast.system.files import PRIVATE_FILE, make_private_directory, os_errors, remove, sync_directory

PAGES = 1000  # that are copied between two reports of progress
TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " AND name NOT LIKE 'search%' ORDER BY name"
)


def copy_database(source: apsw.Connection, target: Path, progress: Callable[[int, int], None]) -> dict[str, int]:
    """Copy a snapshot of the database into a new file. Returns the row counts of its tables."""
    with os_errors(target):
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, PRIVATE_FILE))
    with translated(target):
        copy = apsw.Connection(name_for_sqlite(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            source.execute("BEGIN")
            try:
                rows = count_rows(source)  # the first read fixes the snapshot
                with copy.backup("main", source, "main") as backup:
                    while not backup.done:
                        backup.step(PAGES)
                        progress(backup.page_count - backup.remaining, backup.page_count)
            finally:
                source.execute("ROLLBACK")
            set_journal_mode("delete", copy, target)  # so that it is one file
        finally:
            copy.close()
    with opened(target) as checked:
        if check_database(checked, target) != rows:
            hints = ["`holdfast verify --deep`"]
            raise Damaged("The copy of the store differs from the store", [("path", target)], hints)
        # events that have changed since they were written; before format 3 they have no checksum
        select = f"SELECT count(*) FROM event WHERE sum != event_sum({SUMMED})"
        if int(checked.pragma("user_version")) >= 3 and (wrong := int(checked.execute(select).get)):
            raise Damaged("The store is damaged", [("events that have changed since they were written", wrong)], WAYS)
    return rows


@contextlib.contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """A read-only connection to a database that no other process uses."""
    with translated(path), contextlib.closing(connect(path, writable=False)) as connection:
        yield connection


def check_database(connection: apsw.Connection, path: Path) -> dict[str, int]:
    """Check the integrity of a database. Returns the row counts of its tables."""
    for (text,) in connection.execute("PRAGMA integrity_check"):
        if text != "ok":
            hints = ["`holdfast repair` rebuilds it from what is left"]
            raise Damaged("The database is damaged", [("path", path), ("error", text)], hints)
    return count_rows(connection)


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    tables = [name for (name,) in connection.execute(TABLES)]
    return {name: int(connection.execute(f'SELECT count(*) FROM "{name}"').get) for name in tables}


# Replacing a database


def replace_database(path: Path, complete: Path, aside: Path) -> Path | None:
    """Replace our database by one that no process uses. Returns the new place of the old one."""
    with translated(complete), contextlib.closing(connect(complete)) as connection:
        set_journal_mode("wal", connection, complete)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    with os_errors(complete), open(complete, "rb") as file:
        os.fsync(file.fileno())
    for name in ("-wal", "-shm"):  # it is one file now
        remove(complete.with_name(complete.name + name))
    with os_errors(complete):
        os.rename(complete, replacement_path(path))
        sync_directory(path.parent)
    return finish_replacing(path, aside)


def finish_replacing(path: Path, aside: Path) -> Path | None:
    """Finish an interrupted replacement. The caller is the only writer."""
    status = replacement_path(path).stat()
    place = aside / f"journal-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(status.st_mtime))}-{status.st_ino:x}"
    with os_errors(path):
        for old in (path, log_path(path)):
            if old.exists() and old.stat().st_size:
                make_private_directory(aside)
                make_private_directory(place)
                os.rename(old, place / old.name)
                sync_directory(place)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(old)
        for stale in (path.with_name(path.name + "-shm"), sums_path(path)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(stale)
        os.rename(replacement_path(path), path)
        sync_directory(path.parent)
    record_all(path)
    return place if place.exists() else None
