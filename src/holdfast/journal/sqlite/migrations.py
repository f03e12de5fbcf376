"""Migrate a database to the newest format: a verified backup first, then one transaction for each step."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from holdfast import __version__
from holdfast.core.errors import Damaged, Refused
from holdfast.core.event_text import INDEXED, searchable
from holdfast.core.model import Body, Event
from holdfast.journal import backup_file, codec
from holdfast.journal.backup_file import DATABASE, UPGRADED
from holdfast.journal.sqlite.connection import FORMAT, WAYS, event_sum, set_journal_mode
from holdfast.journal.sqlite.copy import check_database, copy_database, opened
from holdfast.system import files
from holdfast.system.clock import from_micros

FORGOTTEN = "event.forgotten"
Fetch = Callable[[bytes], bytes | None]  # finds a large value by its hash


def upgrade(connection: apsw.Connection, path: Path, blob: Fetch) -> None:
    """Migrate the database to the newest format. The caller is the only writer.

    A kill at any point leaves a valid database of some format; the next process continues from there.
    """
    version = int(connection.pragma("user_version"))
    if 0 < version < FORMAT:
        if schema_of(connection) != expected_schema(version):  # before the backup, which evicts a good one
            raise _wrong_format(path, version)
        _keep_backup(connection, path, version)
    if version == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # `shrink` needs it
    set_journal_mode("wal", connection, path)
    for number in range(version + 1, FORMAT + 1):
        script = script_of(number)
        with connection:
            connection.execute(script)
            if number == 4 and version:
                index_events(connection, blob)
            if number >= 3:
                connection.execute("INSERT OR REPLACE INTO about (name, value) VALUES ('needs', ?)", (__version__,))
            connection.execute(f"PRAGMA user_version = {number}")


def script_of(number: int) -> str:
    return (Path(__file__).parent / "schema" / f"{number:04d}.sql").read_text()


def refuse_newer(connection: apsw.Connection, path: Path, version: int) -> None:
    """Raise `Refused` for a store of a later format, with the version it needs, or `Damaged` for a wrong number."""
    needs = None
    try:
        row = connection.execute("SELECT value FROM about WHERE name = 'needs'").fetchone()
        needs = row[0] if row else None
    except apsw.Error:  # later formats may store it elsewhere
        pass
    needed, ours = ([int(number) for number in re.findall("[0-9]{1,9}", str(text))] for text in (needs, __version__))
    if version < 0 or (schema_of(connection) == expected_schema() and needed <= ours):
        raise _wrong_format(path, version)
    facts: list[tuple[str, object]] = [("store", path), ("format", version), ("this program reads up to", FORMAT)]
    if needs is not None:
        facts.append(("it needs", f"Holdfast {needs} or later; this is {__version__}"))
    raise Refused("This store was written by a newer Holdfast", facts, ["`pip install --upgrade holdfast`"])


def _wrong_format(path: Path, version: int) -> Damaged:
    return Damaged("The store does not have the format that it states", [("store", path), ("format", version)], WAYS)


def expected_schema(version: int = FORMAT) -> set[tuple[str, str, str | None]]:
    """The schema of a database of this format."""
    with contextlib.closing(fresh_database(version)) as connection:
        return schema_of(connection)


def fresh_database(version: int = FORMAT) -> apsw.Connection:
    """An empty database of this format in memory."""
    connection = apsw.Connection(":memory:")
    connection.create_scalar_function("event_sum", event_sum, 8)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for number in range(1, version + 1):
        connection.execute(script_of(number))
    return connection


def schema_of(connection: apsw.Connection) -> set[tuple[str, str, str | None]]:
    return set(
        connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'")
    )


def check_copy(path: Path, rows: dict[str, int]) -> None:
    """Refuse a database with other row counts, or with a schema that is not ours: its triggers could do harm."""
    with opened(path) as connection:
        version = int(connection.pragma("user_version"))
        facts = [("path", path), ("format", version)]
        if version > FORMAT:
            facts = [("format", version), ("this program reads up to", FORMAT)]
            raise Refused("This backup was written by a newer Holdfast", facts, ["`pip install --upgrade holdfast`"])
        if schema_of(connection) != expected_schema(version):
            hints = ["`holdfast restore-backup FILE` puts a backup in its place"]
            raise Damaged("This database was not made by Holdfast", facts, hints)
        if check_database(connection, path) != rows:
            hints = ["another backup may be intact"]
            raise Damaged("The database in this backup does not match its manifest", [("path", path)], hints)


def _keep_backup(connection: apsw.Connection, path: Path, version: int) -> None:
    """Write a backup of the database before anything is changed, and read it back."""
    directory = path.with_name("backups")
    files.make_private_directory(directory)
    copy = directory / ".copy.db"
    files.remove(copy)
    backup_file.remove_partial(directory)
    try:
        rows = copy_database(connection, copy, lambda done, total: None)
        name = f"{version}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
        made = backup_file.next_place(directory, UPGRADED, name)
        about = backup_file.Contents(version, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), rows)
        backup_file.write_archive(made, [backup_file.Part(DATABASE, copy)], about, lambda size: None)
    finally:
        files.remove(copy)
    backup_file.drop_earlier(made, UPGRADED)


# Format 4 has another search index, which finds what agents said too


def index_events(connection: apsw.Connection, blob: Fetch) -> None:
    """Index all events that were not forgotten. Unreadable ones are skipped; `verify` reports them."""
    forgotten = {(run, body.get("seq")) for _, run, _, _, body in _bodies(connection, blob, (FORGOTTEN,))}
    for position, run, seq, kind, body in _bodies(connection, blob, tuple(INDEXED)):
        words = searchable(Event("", seq, "", kind, from_micros(0), None, None, body))
        if words and (run, seq) not in forgotten:
            connection.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (position, words))


def _bodies(
    connection: apsw.Connection, blob: Fetch, kinds: tuple[str, ...]
) -> Iterator[tuple[int, int, int, str, Body]]:
    select = f"SELECT position, run, seq, kind, body FROM event WHERE kind IN ({', '.join('?' * len(kinds))})"
    row: tuple[Any, ...]
    for row in connection.execute(select, kinds):
        try:
            yield (*row[:4], codec.unpack(row[4], blob))
        except Damaged:
            continue
