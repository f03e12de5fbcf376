"""A copy of a database while others write to it: one moment of it, checked before anybody relies on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from holdfast.core.errors import Damaged
from holdfast.journal.sqlite.connection import SUMMED, WAYS, connect, name_for_sqlite, translated, write_by
from holdfast.system.files import PRIVATE_FILE, os_errors

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
