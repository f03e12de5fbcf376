"""Reading what is left of a damaged database, row by row. The damaged files themselves are only read.

A copy is put together of the database's pages and of every page in the log that is sound, also behind a damaged one;
its head is written anew. If it cannot be opened, it gets the first page of a new database; then its rows are gathered
page by page. What is read is checked by the events' own checksums, so that no mixture of pages is believed.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from holdfast.errors import HoldfastError
from holdfast.files import PRIVATE_FILE, write_all
from holdfast.stores import pages
from holdfast.stores.connecting import FORMAT, event_sum, name_for_sqlite
from holdfast.stores.leaves import entries_in_leaves, rows_in_leaves
from holdfast.stores.protocol import EventRow
from holdfast.stores.sqlite_values import SqliteValues
from holdfast.stores.upgrading import script_of

MAGIC = b"SQLite format 3\0"
UNREADABLE = (apsw.Error, UnicodeDecodeError)
ID = 16  # bytes
RUN_ID = re.compile(r"(run|ledger)-|[0-9]{4}-")
EVENT, RUN = 10, 10  # columns; a run has more in later formats
RUN_COLUMNS = "key, id, status, layout, worktree, created, updated, seq, fold, state"
MOST_TRIES = 2_000_000  # rows that are asked for one by one behind a place that cannot be read


class Left(NamedTuple):
    """A row of the table of events that is left."""

    position: int
    row: EventRow
    is_sound: bool


class Salvage:
    """What is left of a database, in a copy that can be read."""

    def __init__(self, connection: apsw.Connection, data: bytes, lost_pages: int) -> None:
        self._connection = connection
        self._data = data
        self.lost_pages = lost_pages  # of the log: what was committed last
        self._values = SqliteValues(connection)
        names = {name for _, name, *_ in connection.execute("PRAGMA table_info(event)")}
        self._is_summed = "sum" in names
        self._stray: dict[int, Left] = {}
        summed = "sum" if self._is_summed else "NULL"
        self._columns = ("run", "seq", "id", "kind", "time", "session", "agent", "body", summed)
        self._select = f"SELECT position, {', '.join(self._columns)} FROM event NOT INDEXED"
        self.is_complete = True  # as long as nothing was met that cannot be read

    def close(self) -> None:
        self._connection.close()

    def runs(self) -> dict[int, str]:
        """The runs' numbers and ids. The index of ids may have what the table has lost, and pages what both have."""
        found = {key: id for key, id in self._rows("run", "key", "id") if isinstance(id, str)}
        try:
            select = "SELECT key, id FROM run INDEXED BY sqlite_autoindex_run_1"
            found = dict(self._connection.execute(select)) | found
        except UNREADABLE:
            self.is_complete = False
        if not self.is_complete:
            left = {key: row[1] for key, row in rows_in_leaves(self._data) if _is_run(row)}
            found = left | found
        return found

    def pointers(self) -> dict[str, int]:
        try:
            return dict(self._connection.execute("SELECT worktree, run FROM pointer"))
        except UNREADABLE:
            return {}

    def events(self, runs: dict[int, str]) -> Iterator[Left]:
        """The events that are left, in order of commit; then those to which no path leads any more."""
        seen: set[int] = set()
        for row in self._rows("event", "position", *self._columns):
            left = self._left(row, runs)
            if left is None:
                self.is_complete = False
            else:
                seen.add(left.position)
                yield left
        if self._is_summed and not self.is_complete:
            for position, values in rows_in_leaves(self._data):
                is_new = len(values) == EVENT and position not in seen
                found = self._left((position, *values[1:]), runs) if is_new else None
                if found is not None and found.is_sound:
                    self._stray[position] = found
                    yield found

    def _left(self, row: tuple[Any, ...], runs: dict[int, str]) -> Left | None:
        position, *values, total = row
        run = runs.get(values[0])
        if run is None or not _is_event(values):
            return None
        return Left(position, EventRow(run, *values[1:]), total is None or total == event_sum(*values))

    def blob(self, digest: bytes) -> bytes | None:
        try:
            return self._values.blob(digest)
        except (*UNREADABLE, HoldfastError):
            return None

    def event_at(self, position: int, runs: dict[int, str]) -> Left | None:
        if position in self._stray:
            return self._stray[position]
        try:
            row = self._connection.execute(f"{self._select} WHERE position = ?", (position,)).fetchone()
        except UNREADABLE:
            return None
        return self._left(row, runs) if row else None

    def lengths(self) -> dict[str, int]:
        """How many events each run should have, as far as that is known."""
        found = self._rows("run", "key", "id", "seq")
        return {id: seq for _, id, seq in found if isinstance(id, str) and isinstance(seq, int)}

    def state(self, run: str) -> bytes | None:
        """The stored state of a run, packed, if it can be read."""
        try:
            found = self._connection.execute("SELECT state FROM run WHERE id = ?", (run,)).fetchone()
        except UNREADABLE:
            return None
        return found[0] if found and isinstance(found[0], bytes) else None

    def _rows(self, table: str, key: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a table by its key. Behind a place that cannot be read, they are asked for one by one."""
        last, tries = 0, 0
        select = f"SELECT {key}, {', '.join(columns)} FROM {table} NOT INDEXED WHERE {key} "
        while True:
            try:
                for row in self._connection.execute(f"{select}> ? ORDER BY {key}", (last,)):
                    last = row[0]
                    yield row
                return
            except UNREADABLE:
                self.is_complete = False
            end = self._highest(table, key)
            while last < end and tries < MOST_TRIES:
                last, tries = last + 1, tries + 1
                try:
                    found = self._connection.execute(f"{select}= ?", (last,)).fetchone()
                except UNREADABLE:
                    continue
                if found:
                    yield found
                    break
            else:
                return

    def _highest(self, table: str, key: str) -> int:
        for select in (f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'", f"SELECT max({key}) FROM {table}"):
            try:
                if found := self._connection.execute(select).get:
                    return int(found)
            except UNREADABLE:
                continue
        return 0


def salvage(path: Path, directory: Path) -> Salvage | None:
    """What is left of a database, copied into a directory of its own; None where there is none."""
    base = bytearray(_laid_together(path))
    if len(base) < pages.PAGE:
        return None
    lost = pages.lost_pages(pages.log_of(path))
    for number, first in enumerate(_first_pages(base)):
        copy = directory / f"left-{number}.db"
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            write_all(descriptor, first + base[pages.PAGE :])
        finally:
            os.close(descriptor)
        connection = apsw.Connection(name_for_sqlite(copy), flags=apsw.SQLITE_OPEN_READONLY)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        try:
            connection.execute("SELECT id FROM run WHERE false").fetchall()
            connection.execute("SELECT id FROM event WHERE false").fetchall()
            return Salvage(connection, bytes(base), lost)
        except UNREADABLE:
            connection.close()
    return Salvage(_gathered(bytes(base)), bytes(base), lost)


def _gathered(data: bytes) -> apsw.Connection:
    """A database of all rows that lie in leaf pages: nothing is left that says which page belongs to which table."""
    connection = _fresh()
    with connection:
        for key, row in rows_in_leaves(data):
            if _is_run(row):
                connection.execute(
                    f"INSERT OR REPLACE INTO run ({RUN_COLUMNS}) VALUES {_marks(RUN)}", [key, *row[1:RUN]]
                )
            elif len(row) == EVENT and _is_event(row[1:-1]) and row[-1] == event_sum(*row[1:-1]):
                connection.execute(f"INSERT OR IGNORE INTO event VALUES {_marks(EVENT)}", [key, *row[1:]])
        for entry in entries_in_leaves(data):
            if len(entry) == 2 and all(isinstance(value, bytes) for value in entry) and len(entry[0]) == ID:
                connection.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", entry)
    return connection


def _marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def _laid_together(path: Path) -> bytes:
    base = bytearray(b"".join(page for _, page in pages.every_page(path)) if path.exists() else b"")
    for number, content in pages.sound_frames(pages.log_of(path)):
        if number <= len(base) // pages.PAGE + 100_000:  # a number that damage has made
            base.extend(bytes(max(0, number * pages.PAGE - len(base))))
            base[(number - 1) * pages.PAGE : number * pages.PAGE] = content
    return bytes(base)


def _first_pages(base: bytes | bytearray) -> Iterator[bytes]:
    """The first page as it is, with a head that fits, and as a new database of ours has it."""
    count = -(-len(base) // pages.PAGE)
    for first in (bytes(base[: pages.PAGE]), _fresh_page()):
        rest = first[24:28] + struct.pack(">I", count) + bytes(8) + first[40:44]
        numbers = struct.pack(">IIIIIIII", 4, 0, 0, 1, FORMAT, 0, 0, 0)
        head = MAGIC + struct.pack(">H", pages.PAGE) + b"\1\1\0\x40\x20\x20" + rest + numbers
        yield head + bytes(92 - len(head)) + first[24:28] + first[96:100] + first[100:]


def _fresh() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.create_scalar_function("event_sum", event_sum, 8)
    for number in range(1, FORMAT + 1):
        connection.execute(script_of(number))
    return connection


def _fresh_page() -> bytes:
    connection = _fresh()
    data = connection.serialize("main")
    connection.close()
    return data[: pages.PAGE]


def _is_event(values: list[Any]) -> bool:
    run, seq, id, kind, time, session, agent, body = values
    numbers = all(isinstance(value, int) for value in (run, seq, time)) and seq > 0
    texts = all(value is None or isinstance(value, str) for value in (session, agent)) and isinstance(kind, str)
    return numbers and texts and isinstance(id, bytes) and isinstance(body, bytes) and len(id) == ID


def _is_run(row: list[Any]) -> bool:
    return len(row) >= RUN and row[0] is None and isinstance(row[1], str) and RUN_ID.match(row[1]) is not None
