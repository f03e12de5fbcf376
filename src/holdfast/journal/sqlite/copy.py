"""A copy of a database while others write to it: one moment of it, checked before anybody relies on it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from holdfast.core.errors import Damaged
from holdfast.journal.sqlite.connection import SUMMED, WAYS, connect, name_for_sqlite, new_of, translated, write_by
from holdfast.journal.sqlite.page_checksums import log_of, note_all, sums_of
from holdfast.system.files import PRIVATE_FILE, make_private_directory, os_errors, remove, sync_directory

PAGES = 1000  # that are copied between two words about progress
TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " AND name NOT LIKE 'search%' ORDER BY name"
)


def copy_database(source: apsw.Connection, target: Path, told: Callable[[int, int], None]) -> dict[str, int]:
    """Copy the database as it is at this moment into a new file. Answers with the rows of each table."""
    with os_errors(target):
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, PRIVATE_FILE))
    with translated(target):
        copy = apsw.Connection(name_for_sqlite(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            source.execute("BEGIN")
            try:
                rows = count_rows(source)  # from here on this connection sees this moment
                _copy_pages(source, copy, told)
            finally:
                source.execute("ROLLBACK")
            write_by("delete", copy, target)  # so that it is one file
        finally:
            copy.close()
    if check_database(target) != rows:
        raise Damaged("A copy of the store is not what was copied", [("path", target)], ["`holdfast verify --deep`"])
    _check_events(target)
    return rows


def _copy_pages(source: apsw.Connection, copy: apsw.Connection, told: Callable[[int, int], None]) -> None:
    with copy.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(PAGES)
            told(backup.page_count - backup.remaining, backup.page_count)


def check_database(path: Path) -> dict[str, int]:
    """Look whether a database that nobody else uses is whole. Answers with the rows of each table."""
    with translated(path):
        connection = connect(path, writable=False)
        try:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
            rows = count_rows(connection)
        finally:
            connection.close()
    if found:
        raise Damaged(
            "The database is damaged",
            [("path", path), ("error", found[0])],
            ["`holdfast repair` rebuilds it from what is left"],
        )
    return rows


def _check_events(path: Path) -> None:
    """Refuse a copy of events that have changed since they were written. Before format 3 nothing tells that."""
    with translated(path):
        connection = connect(path, writable=False)
        try:
            if int(connection.pragma("user_version")) < 3:
                return
            select = f"SELECT count(*) FROM event WHERE sum != event_sum({SUMMED})"
            wrong = int(connection.execute(select).get)
        finally:
            connection.close()
    if wrong:
        raise Damaged("The store is damaged", [("events that have changed since they were written", wrong)], WAYS)


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    tables = [name for (name,) in connection.execute(TABLES)]
    return {name: int(connection.execute(f'SELECT count(*) FROM "{name}"').get) for name in tables}


def format_of(path: Path) -> int:
    """The format of a database that nobody else uses."""
    with translated(path):
        connection = connect(path, writable=False)
        try:
            return int(connection.pragma("user_version"))
        finally:
            connection.close()


# Replacing a database


def replace_database(path: Path, complete: Path, aside: Path) -> Path | None:
    """Let a database that nobody uses take the place of ours. Answers with where the old one is now."""
    _make_one_file(complete)
    with os_errors(complete):
        os.rename(complete, new_of(path))
        sync_directory(path.parent)
    return finish_replacing(path, aside)


def is_unfinished(path: Path) -> bool:
    return new_of(path).exists()


def finish_replacing(path: Path, aside: Path) -> Path | None:
    """Go on where a replacement was broken off. Whoever calls this is the only writer."""
    made = time.strftime("%Y%m%d-%H%M%S", time.gmtime(new_of(path).stat().st_mtime))
    place = aside / f"journal-{made}-{new_of(path).stat().st_ino:x}"
    with os_errors(path):
        for old in (path, log_of(path)):
            if old.exists() and old.stat().st_size:
                make_private_directory(aside)
                make_private_directory(place)
                os.rename(old, place / old.name)
                sync_directory(place)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(old)
        for stale in (path.with_name(path.name + "-shm"), sums_of(path)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(stale)
        os.rename(new_of(path), path)
        sync_directory(path.parent)
    note_all(path)
    return place if place.exists() else None


def _make_one_file(path: Path) -> None:
    """Let the database have no log beside it, and be ready for one."""
    with translated(path):
        connection = connect(path)
        try:
            write_by("wal", connection, path)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close()
    with os_errors(path), open(path, "rb") as file:
        os.fsync(file.fileno())
    for name in ("-wal", "-shm"):
        remove(path.with_name(path.name + name))
