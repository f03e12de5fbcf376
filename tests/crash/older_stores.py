"""Stores as earlier versions of Holdfast wrote them: the same rows, in the tables that those versions had."""

from __future__ import annotations

from pathlib import Path

import apsw

import holdfast
from holdfast.journal.sqlite.connection import event_sum
from holdfast.journal.sqlite.copy import TABLES
from holdfast.journal.sqlite.migrations import script_of
from tests.crash.cases import a_project_with_a_run, opened
from tests.crash.damage import write_back


def make_older(path: Path, version: int) -> None:
    """Turn a database that nobody uses into one of an earlier format."""
    new = apsw.Connection(str(path))
    old_path = path.with_name("older.db")
    old = apsw.Connection(str(old_path))
    old.create_scalar_function("event_sum", event_sum, 8)
    old.pragma("journal_mode", "WAL")
    for number in range(1, version + 1):
        old.execute(script_of(number))
    old.pragma("user_version", version)
    old.pragma("foreign_keys", False)
    with old:
        for (table,) in old.execute(TABLES).fetchall():
            columns = ", ".join(name for _, name, *_ in old.execute(f"PRAGMA table_info({table})"))
            for row in new.execute(f"SELECT {columns} FROM {table}"):
                old.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})", row)
        for position, text in _words(new):
            old.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (position, text))
    new.close()
    old.close()
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", "journal.sums"):
        path.with_name(name).unlink(missing_ok=True)
    old_path.rename(path)
    path.chmod(0o600)


def _words(connection: apsw.Connection) -> list[tuple[int, str]]:
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'search', 'instance')")
    found: dict[int, list[tuple[int, str]]] = {}
    for term, doc, offset in connection.execute("SELECT term, doc, offset FROM temp.words"):
        found.setdefault(doc, []).append((offset, term))
    connection.execute("DROP TABLE temp.words")
    return [(doc, " ".join(term for _, term in sorted(terms))) for doc, terms in sorted(found.items())]


def an_older_store(version: int, directory: Path) -> None:
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        run = holdfast.runs(workspace).runs[0]
        assert run.notes
        write_back(workspace)
        place = workspace.place
    make_older(place / "journal.db", version)
