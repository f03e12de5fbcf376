"""Health and space of the SQLite store: verify its bytes, tables and indexes, shrink the file, scrub deleted rows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from holdfast.core.errors import Busy
from holdfast.journal.sqlite import page_checksums
from holdfast.journal.store import EventRow

PAGES_AT_ONCE = 5_000  # that are compared while writers wait
PAUSE = 0.02  # seconds between two attempts to empty the log
STEP = 2_000  # pages that are released while writers wait
WORTH_IT = 64  # free pages that stay for reuse
INCREMENTAL = 2  # of `auto_vacuum`; a store of an earlier format has none before its first VACUUM
TOKENIZER = "unicode61 remove_diacritics 2"
EVENTS = (
    "SELECT event.position, run.id, event.seq, event.id, event.kind, event.time, event.session, event.agent, event.body"
    " FROM event JOIN run ON run.key = event.run ORDER BY event.position"
)
Locked = Callable[[], AbstractContextManager[None]]
Progress = Callable[[int, int], None]


def changed_bytes(path: Path, locked: Locked, progress: Progress) -> list[str]:
    """Pages of the database and of the log that are not as they were written. Writers wait for short periods only."""
    with locked():
        problem = page_checksums.read_log(page_checksums.log_path(path)).problem
    problems = [problem] if problem else []
    first, more = 1, True
    while more:
        with locked():
            wrong, more = page_checksums.changed_pages(path, first, PAGES_AT_ONCE)
        problems += [
            f"page {number} of the database has changed since it was written"
            if number
            else "journal.sums, which holds the checksum of each page, cannot be read"
            for number in wrong
        ]
        first += PAGES_AT_ONCE
        progress(first - 1, max(first - 1, os.stat(path).st_size // page_checksums.PAGE))
    return problems


def shrink(connection: apsw.Connection, locked: Locked, write_back: Callable[[], bool], progress: Progress) -> None:
    """Release free pages to the file system, a few at a time. A kill at any point leaves the database whole."""

    def free_pages() -> int:
        return int(connection.pragma("freelist_count"))

    total = free_pages()
    if total <= WORTH_IT:
        return
    if connection.pragma("auto_vacuum") != INCREMENTAL:
        with locked():
            connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}; VACUUM")
            write_back()
    while before := free_pages():
        with locked():
            connection.execute(f"PRAGMA incremental_vacuum({STEP})").fetchall()
            write_back()
        progress(total - before, total)
        if free_pages() >= before:
            return
    progress(total, total)


def scrub(connection: apsw.Connection, write_back: Callable[[], bool], deadline: float) -> None:
    """Rewrite the database without deleted data, and empty its log. The caller is the only writer.

    Zeroing deleted rows is not enough: rows that move leave their bytes on the old page.
    """
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("INSERT INTO search (search) VALUES ('optimize')")
    connection.execute("VACUUM")
    end = time.monotonic() + deadline
    while not write_back():
        if time.monotonic() > end:
            raise Busy("Another program reads the store, so its log cannot be emptied", [], ["run it again"])
        time.sleep(PAUSE)


def index_problems(connection: apsw.Connection, words: Callable[[EventRow], str]) -> list[str]:
    """A problem if the search index differs from one that is made of the events' words."""
    made = apsw.Connection("")
    try:
        made.execute(f"CREATE VIRTUAL TABLE search USING fts5 (words, content = '', tokenize = '{TOKENIZER}')")
        with made:
            events = ((position, EventRow(*row)) for position, *row in connection.execute(EVENTS))
            rows = ((position, text) for position, row in events if (text := words(row)))
            made.executemany("INSERT INTO search (rowid, words) VALUES (?, ?)", rows)
        differ = _instances(made) != _instances(connection)
    finally:
        made.close()
    return ["the search index does not match the events"] if differ else []


def _instances(connection: apsw.Connection) -> int:
    """A hash of all words of an index and their positions."""
    connection.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab('main', 'search', 'instance')")
    try:
        total = 0
        for found in connection.execute("SELECT term, doc, offset FROM temp.instances"):
            total = hash((total, found))
        return total
    finally:
        connection.execute("DROP TABLE temp.instances")
