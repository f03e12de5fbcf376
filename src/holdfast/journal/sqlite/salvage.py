"""Salvage the rows of a damaged database. The damaged files themselves are only read.

All pages of the database are copied, then overwritten by every undamaged page of its log. SQLite reads each leaf page
of the copy as a table of its own: no path through the tree is needed, so damage loses only the rows it hit. Free pages
are skipped, because they hold deleted rows. The checksum of each event detects mixed versions of pages. One page at a
time is in memory.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

import apsw

from holdfast.journal.sqlite import page_checksums
from holdfast.journal.sqlite.connection import event_sum, name_for_sqlite
from holdfast.journal.sqlite.migrations import fresh_database
from holdfast.journal.sqlite.page_checksums import PAGE
from holdfast.system.files import PRIVATE_FILE

UNREADABLE = (apsw.Error, UnicodeDecodeError)
TABLE_LEAF, INDEX_LEAF, INDEX_INNER = 0x0D, 0x0A, 0x02  # kinds of pages
CHANGES, FREE = 24, 32  # offsets in the first page: the file change counter, and the head of the free list
HEAD = 100  # bytes of the first page before its rows
ID = 16  # bytes of an id or a hash
SCHEMA = """
CREATE TABLE run (source, key, id, seq, state, PRIMARY KEY (source, key));
CREATE TABLE event (
    source, position, run, seq, id, kind, time, session, agent, body, is_sound, PRIMARY KEY (source, position)
);
CREATE TABLE blob (source, digest, data, PRIMARY KEY (source, digest)) WITHOUT ROWID;
CREATE TABLE pointer (source, worktree, run);
"""


class Salvaged(NamedTuple):
    is_complete: bool  # no event is missing
    lost_pages: int  # of the log, with the newest commits


class Tree(NamedTuple):
    """Facts that are read through the damaged tree, as far as possible."""

    runs: dict[int, str]  # from the index of ids, which may have more than the table
    pointers: dict[str, int]
    events: int | None  # their number; None if some are unreadable


def salvage(path: Path, directory: Path, into: apsw.Connection, source: int = 0) -> Salvaged | None:
    """Salvage a database into tables of `SCHEMA`; None if it has no pages. The copy in the directory is temporary."""
    copy = directory / "left.db"
    file = os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        _copy_pages(path, file)
        if os.fstat(file).st_size < PAGE:
            return None
        first = os.pread(file, PAGE, 0)
        tree = _read_tree(copy, file, first)
        os.pwrite(file, first, 0)
        with contextlib.closing(Leaves(copy, file)) as leaves, into:
            _gather(leaves, into, source)
            runs = ((source, key, id) for key, id in tree.runs.items())
            into.executemany("INSERT OR IGNORE INTO run (source, key, id) VALUES (?, ?, ?)", runs)
            pointers = ((source, worktree, run) for worktree, run in tree.pointers.items())
            into.executemany("INSERT INTO pointer VALUES (?, ?, ?)", pointers)
        events = into.execute("SELECT count(*) FROM event WHERE source = ?", (source,)).get
        return Salvaged(events == tree.events, page_checksums.lost_pages(page_checksums.log_path(path)))
    finally:
        os.close(file)
        os.unlink(copy)


def _copy_pages(path: Path, out: int) -> None:
    """Copy all pages of the database to a file, then the undamaged pages of its log."""
    count = 0
    for number, page in page_checksums.every_page(path) if path.exists() else ():
        os.pwrite(out, page, (number - 1) * PAGE)
        count = number
    for number, content in page_checksums.sound_frames(page_checksums.log_path(path)):
        if 0 < number <= count + 100_000:  # else the number itself is damaged
            os.pwrite(out, content, (number - 1) * PAGE)
            count = max(count, number)


# The tree


def _read_tree(copy: Path, file: int, found: bytes) -> Tree:
    """Read the tree with the first page as found, with a new header in it, or with that of a new store."""
    with contextlib.closing(fresh_database()) as database:
        fresh = database.serialize("main")[:PAGE]
    for first in (found, fresh[:HEAD] + found[HEAD:], fresh):
        for at, data in ((0, first), (18, b"\1\1"), (CHANGES, b"\0\0\0\1"), (92, bytes(4))):
            os.pwrite(file, data, at)  # no log; the differing counters make SQLite take its size from the file
        connection = apsw.Connection(name_for_sqlite(copy), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.execute("SELECT id FROM run WHERE false").fetchall()
            return Tree(
                dict(_pairs(connection, "SELECT key, id FROM run INDEXED BY sqlite_autoindex_run_1", int, str)),
                dict(_pairs(connection, "SELECT worktree, run FROM pointer", str, int)),
                _count_events(connection),
            )
        except UNREADABLE:
            continue
        finally:
            connection.close()
    return Tree({}, {}, None)


def _pairs(connection: apsw.Connection, select: str, *kinds: type) -> Iterator[tuple[Any, Any]]:
    with contextlib.suppress(*UNREADABLE):
        for row in connection.execute(select):
            if all(map(isinstance, row, kinds)):
                yield row


def _count_events(connection: apsw.Connection) -> int | None:
    """The number of events if all rows of runs and events are readable."""
    try:
        connection.execute("SELECT count(state) FROM run NOT INDEXED").fetchall()
        return int(connection.execute("SELECT count(body) FROM event NOT INDEXED").get)
    except UNREADABLE:
        return None


# The leaves


class Leaves:
    """The leaf pages in use of a copy. SQLite reads each as the root of a table, so it needs no other page."""

    def __init__(self, copy: Path, file: int) -> None:
        self._file = file
        self._count = os.fstat(file).st_size // PAGE
        self._free = set(self._free_pages())
        self._reads = 0
        os.pwrite(file, _first_page(self._count), 0)
        os.truncate(file, (self._count + 2) * PAGE)
        self._connection = apsw.Connection(name_for_sqlite(copy), flags=apsw.SQLITE_OPEN_READONLY)

    def close(self) -> None:
        self._connection.close()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of all rowid tables: the rowid, then as many values as any table of ours has columns."""
        return self._read_pages("SELECT rowid, * FROM leaf", TABLE_LEAF, self._count + 1)

    def entries(self) -> Iterator[tuple[Any, ...]]:
        """The first two values of all entries of indexes and of tables without rowids."""
        for kind in (INDEX_LEAF, INDEX_INNER):
            yield from self._read_pages("SELECT * FROM entry", kind, self._count + 2)

    def _read_pages(self, select: str, kind: int, root: int) -> Iterator[tuple[Any, ...]]:
        for number in range(2, self._count + 1):
            page = os.pread(self._file, PAGE, (number - 1) * PAGE)
            if page[0] != kind or number in self._free:
                continue
            # the offsets of its rows; on an inner page of an index, each row follows a page number
            head, before = (12, 4) if page[0] == INDEX_INNER else (8, 0)
            most = min(int.from_bytes(page[3:5], "big"), (PAGE - head) // 2)
            cells = [int.from_bytes(page[at : at + 2], "big") + before for at in range(head, head + 2 * most, 2)]
            try:
                yield from self._read(select, _leaf(page, cells), root)
            except UNREADABLE:  # read one row at a time, without the damaged ones
                for cell in cells:
                    with contextlib.suppress(*UNREADABLE):
                        yield from self._read(select, _leaf(page, [cell]), root)

    def _read(self, select: str, page: bytes, root: int) -> Iterator[tuple[Any, ...]]:
        self._reads += 1
        os.pwrite(self._file, page, (root - 1) * PAGE)
        os.pwrite(self._file, self._reads.to_bytes(4, "big"), CHANGES)
        return self._connection.execute(select)

    def _free_pages(self) -> Iterator[int]:
        """The pages in the free list."""
        following = self._number(1, FREE)
        for _ in range(self._count):  # a damaged list may be a cycle
            if not 1 < following <= self._count:
                return
            yield following
            most = min(self._number(following, 4), PAGE // 4 - 2)
            yield from (self._number(following, 8 + 4 * place) for place in range(most))
            following = self._number(following, 0)

    def _number(self, page: int, at: int) -> int:
        return int.from_bytes(os.pread(self._file, 4, (page - 1) * PAGE + at), "big")


def _leaf(page: bytes, cells: list[int]) -> bytes:
    """A leaf page with some of the rows of a page."""
    kind = TABLE_LEAF if page[0] == TABLE_LEAF else INDEX_LEAF
    places = struct.pack(f">{len(cells)}H", *(cell % 2**16 for cell in cells))
    head = struct.pack(">BHH", kind, 0, len(cells)) + page[5:7] + b"\0"
    return (head + places + page[len(head + places) :])[:PAGE]


def _first_page(count: int) -> bytes:
    """The first page of a database with `count` pages and two more, the roots of its tables."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE leaf (a, b, c, d, e, f, g, h, i, j, k)")
    connection.execute("CREATE TABLE entry (a PRIMARY KEY, b) WITHOUT ROWID; PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET rootpage = ? + rowid", (count,))
    page = connection.serialize("main")[:PAGE]
    connection.close()
    return page


def _gather(leaves: Leaves, into: apsw.Connection, source: int) -> None:
    """Insert the events, runs and large values, which are recognised by the types of their columns."""
    for number, *row in leaves.rows():
        if _is_run(row):
            run = (source, number, row[1], row[7], row[9])
            into.execute("INSERT OR IGNORE INTO run VALUES (?, ?, ?, ?, ?)", run)
        elif _is_event(row):
            *values, total = row[1:10]
            is_sound = total is None or total == event_sum(*values)  # there is none before format 3
            act = "REPLACE" if is_sound else "IGNORE"
            event = (source, number, *values, is_sound)
            into.execute(f"INSERT OR {act} INTO event VALUES ({', '.join('?' * len(event))})", event)
    for digest, data in leaves.entries():
        if isinstance(digest, bytes) and isinstance(data, bytes) and len(digest) == ID:
            into.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", (source, digest, data))


def _is_run(row: list[Any]) -> bool:
    return row[0] is None and _are(row[1:5], str) and _are(row[5:9], int)


def _is_event(row: list[Any]) -> bool:
    key, run, seq, id, kind, time, session, agent, body, total, more = row
    numbers = _are((run, seq, time), int) and seq > 0 and isinstance(total, int | None)
    texts = isinstance(kind, str) and _are((session, agent), str | None)
    return key is None is more and numbers and texts and _are((id, body), bytes) and len(id) == ID


def _are(values: Collection[Any], kind: type | UnionType) -> bool:
    return all(isinstance(value, kind) for value in values)
