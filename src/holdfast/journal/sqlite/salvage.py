"""Reading what is left of a damaged database, row by row. The damaged files themselves are only read.

A copy is put together of the database's pages and of every page in the log that is sound, also behind a damaged one;
its head is written anew. If it cannot be opened, it gets the first page of a new database; then its rows are gathered
page by page. What is read is checked by the events' own checksums, so that no mixture of pages is believed. A page at a
time is in memory, so that a large database needs no more of it than a small one.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from holdfast.core.errors import HoldfastError
from holdfast.journal.sqlite import page_checksums
from holdfast.journal.sqlite.blobs import SqliteValues
from holdfast.journal.sqlite.connection import FORMAT, event_sum, name_for_sqlite
from holdfast.journal.sqlite.leaf_pages import Pages, entries, rows_in_leaves
from holdfast.journal.sqlite.migrations import script_of
from holdfast.journal.store import EventRow
from holdfast.system.files import PRIVATE_FILE

MAGIC = b"SQLite format 3\0"
UNREADABLE = (apsw.Error, UnicodeDecodeError)
ID = 16  # bytes
RUN_ID = re.compile(r"(run|ledger)-|[0-9]{4}-")
EVENT, RUN = 10, 10  # columns; a run has more in later formats
RUN_COLUMNS = "key, id, status, layout, worktree, created, updated, seq, fold, state"
NAMES = ("run", "seq", "id", "kind", "time", "session", "agent", "body", "sum")
MOST_TRIES = 2_000_000  # rows that are asked for one by one behind a place that cannot be read


class Left(NamedTuple):
    """A row of the table of events that is left."""

    position: int
    row: EventRow
    is_sound: bool


class Salvage:
    """What is left of a database, in a copy that can be read."""

    def __init__(self, connection: apsw.Connection, copy: Pages, lost_pages: int) -> None:
        self._connection = connection
        self._pages = copy
        self.lost_pages = lost_pages  # of the log: what was committed last
        self._values = SqliteValues(connection)
        names = {name for _, name, *_ in connection.execute("PRAGMA table_info(event)")}
        self._is_summed = "sum" in names
        self._strays: apsw.Connection | None = None
        self._scattered: apsw.Connection | None = None
        summed = "sum" if self._is_summed else "NULL"
        self._columns = ("run", "seq", "id", "kind", "time", "session", "agent", "body", summed)
        self._select = f"SELECT position, {', '.join(self._columns)} FROM event NOT INDEXED"
        self.is_complete = True  # as long as nothing was met that cannot be read

    def close(self) -> None:
        self._connection.close()
        self._pages.close()
        for gathered in filter(None, (self._strays, self._scattered)):
            gathered.close()

    def runs(self) -> dict[int, str]:
        """The runs' numbers and ids. The index of ids may have what the table has lost, and pages what both have."""
        found = {key: id for key, id in self._rows("run", "key", "id") if isinstance(id, str)}
        try:
            select = "SELECT key, id FROM run INDEXED BY sqlite_autoindex_run_1"
            found = dict(self._connection.execute(select)) | found
        except UNREADABLE:
            self.is_complete = False
        if not self.is_complete:
            left = {key: row[1] for key, row in rows_in_leaves(self._pages) if _is_run(row)}
            found = left | found
        return found

    def pointers(self) -> dict[str, int]:
        try:
            return dict(self._connection.execute("SELECT worktree, run FROM pointer"))
        except UNREADABLE:
            return {}

    def events(self, runs: dict[int, str]) -> Iterator[Left]:
        """The events that are left, in order of commit; then those to which no path leads any more."""
        for row in self._rows("event", "position", *self._columns):
            left = self._left(row, runs)
            if left is None:
                self.is_complete = False
            else:
                yield left
        if self._is_summed and not self.is_complete:
            yield from self._gather_strays(runs)

    def _gather_strays(self, runs: dict[int, str]) -> Iterator[Left]:
        """Events in leaves to which no path leads. They are kept, in a file, so that they can be asked for later."""
        self._strays = apsw.Connection("")
        self._strays.execute(f"CREATE TABLE stray ({', '.join(('position INTEGER PRIMARY KEY', *NAMES))})")
        for position, values in rows_in_leaves(self._pages):
            if len(values) != EVENT or self.event_at(position, runs) is not None:
                continue
            found = self._left((position, *values[1:]), runs)
            if found is not None and found.is_sound:
                self._strays.execute(f"INSERT INTO stray VALUES {_marks(EVENT)}", (position, *values[1:]))
                yield found

    def _left(self, row: tuple[Any, ...], runs: dict[int, str]) -> Left | None:
        position, *values, total = row
        run = runs.get(values[0])
        if run is None or not _is_event(values):
            return None
        return Left(position, EventRow(run, *values[1:]), total is None or total == event_sum(*values))

    def blob(self, digest: bytes) -> bytes | None:
        """A large value. Where the way to it is damaged, it is looked for among all that lie in any page."""
        try:
            return self._values.blob(digest)
        except HoldfastError:
            return None
        except UNREADABLE:
            pass
        try:
            return self._gather_values().blob(digest)
        except (*UNREADABLE, HoldfastError):
            return None

    def _gather_values(self) -> SqliteValues:
        if self._scattered is None:
            self._scattered = apsw.Connection("")
            self._scattered.execute("CREATE TABLE blob (digest PRIMARY KEY, data)")
            with self._scattered:
                for entry in _values_in(self._pages):
                    self._scattered.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", entry)
        return SqliteValues(self._scattered)

    def event_at(self, position: int, runs: dict[int, str]) -> Left | None:
        try:
            row = self._connection.execute(f"{self._select} WHERE position = ?", (position,)).fetchone()
        except UNREADABLE:
            row = None
        found = self._left(row, runs) if row else None
        if found is None and self._strays is not None:
            row = self._strays.execute("SELECT * FROM stray WHERE position = ?", (position,)).fetchone()
            found = self._left(row, runs) if row else None
        return found

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
    copy = directory / "left.db"
    with open(
        os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE), "r+b", buffering=0
    ) as out:
        _lay_together(path, out.fileno())
        if os.fstat(out.fileno()).st_size < page_checksums.PAGE:
            return None
        lost = page_checksums.lost_pages(page_checksums.log_of(path))
        for first in _first_pages(os.pread(out.fileno(), page_checksums.PAGE, 0), os.fstat(out.fileno()).st_size):
            os.pwrite(out.fileno(), first, 0)
            connection = apsw.Connection(name_for_sqlite(copy), flags=apsw.SQLITE_OPEN_READONLY)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            try:
                connection.execute("SELECT id FROM run WHERE false").fetchall()
                connection.execute("SELECT id FROM event WHERE false").fetchall()
                return Salvage(connection, Pages(copy), lost)
            except UNREADABLE:
                connection.close()
    return Salvage(_gathered(Pages(copy)), Pages(copy), lost)


def _gathered(left: Pages) -> apsw.Connection:
    """A database of all rows that lie in leaf pages: nothing is left that says which page belongs to which table."""
    connection = _fresh("")
    with connection:
        for key, row in rows_in_leaves(left):
            if _is_run(row):
                connection.execute(
                    f"INSERT OR REPLACE INTO run ({RUN_COLUMNS}) VALUES {_marks(RUN)}", [key, *row[1:RUN]]
                )
            elif len(row) == EVENT and _is_event(row[1:-1]) and row[-1] == event_sum(*row[1:-1]):
                connection.execute(f"INSERT OR IGNORE INTO event VALUES {_marks(EVENT)}", [key, *row[1:]])
        for entry in _values_in(left):
            connection.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", entry)
    left.close()
    return connection


def _values_in(left: Pages) -> Iterator[list[Any]]:
    for entry in entries(left):
        if len(entry) == 2 and all(isinstance(value, bytes) for value in entry) and len(entry[0]) == ID:
            yield entry


def _marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


def _lay_together(path: Path, out: int) -> None:
    """Write all pages of the database into a file, and over them those that are sound in its log."""
    count = 0
    for number, page in page_checksums.every_page(path) if path.exists() else ():
        os.pwrite(out, page, (number - 1) * page_checksums.PAGE)
        count = number
    for number, content in page_checksums.sound_frames(page_checksums.log_of(path)):
        if 0 < number <= count + 100_000:  # a number that damage has made
            os.pwrite(out, content, (number - 1) * page_checksums.PAGE)
            count = max(count, number)


def _first_pages(found: bytes, size: int) -> Iterator[bytes]:
    """The first page as it is, with a head that fits, and as a new database of ours has it."""
    count = -(-size // page_checksums.PAGE)
    for first in (found, _fresh_page()):
        rest = first[24:28] + struct.pack(">I", count) + bytes(8) + first[40:44]
        numbers = struct.pack(">IIIIIIII", 4, 0, 0, 1, FORMAT, 0, 0, 0)
        head = MAGIC + struct.pack(">H", page_checksums.PAGE) + b"\1\1\0\x40\x20\x20" + rest + numbers
        yield head + bytes(92 - len(head)) + first[24:28] + first[96:100] + first[100:]


def _fresh(name: str = ":memory:") -> apsw.Connection:
    """A new database of ours; without a name it lies in a file that nobody sees."""
    connection = apsw.Connection(name)
    connection.create_scalar_function("event_sum", event_sum, 8)
    for number in range(1, FORMAT + 1):
        connection.execute(script_of(number))
    return connection


def _fresh_page() -> bytes:
    connection = _fresh()
    data = connection.serialize("main")
    connection.close()
    return data[: page_checksums.PAGE]


def _is_event(values: list[Any]) -> bool:
    run, seq, id, kind, time, session, agent, body = values
    numbers = all(isinstance(value, int) for value in (run, seq, time)) and seq > 0
    texts = all(value is None or isinstance(value, str) for value in (session, agent)) and isinstance(kind, str)
    return numbers and texts and isinstance(id, bytes) and isinstance(body, bytes) and len(id) == ID


def _is_run(row: list[Any]) -> bool:
    return len(row) >= RUN and row[0] is None and isinstance(row[1], str) and RUN_ID.match(row[1]) is not None
