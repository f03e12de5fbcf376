"""Contract of the SQLite store alone: settings that survive a power failure, private files, reports of corruption."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from holdfast.core.errors import Damaged, Refused, Trouble
from holdfast.journal.sqlite.connection import FORMAT
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.journal.store import Snapshot
from tests.contract.makers import a_run_row, a_session_row, add_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_commits_are_synced_and_written_ahead(path: Path) -> None:
    store = SqliteStore(path)
    pragma = store._connection.pragma
    assert (pragma("journal_mode"), pragma("synchronous"), pragma("foreign_keys")) == ("wal", 2, 1)
    store.close()


def test_writer_holds_the_database_from_the_beginning_of_its_transaction(path: Path) -> None:
    """A program that ignores our queue must not write between the transaction's reads and its writes."""
    store = SqliteStore(path)
    store.open()
    stranger = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    with store.writing() as writer:
        assert writer.all_run_ids() == []
        with pytest.raises(apsw.BusyError):
            stranger.execute("BEGIN IMMEDIATE")
    stranger.close()
    store.close()


@pytest.mark.promise(22)
def test_every_file_of_the_store_is_the_users_alone_under_any_umask(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from holdfast.journal.sqlite.store import SqliteStore
store = SqliteStore(Path({str(tmp_path / "journal.db")!r}))
with store.writing() as writer:
    writer.point("/project", None)
"""
    subprocess.run([sys.executable, "-c", script], umask=0, check=True, timeout=60, env=os.environ)
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(tmp_path)}
    assert {"journal.db", "journal.db-wal", "journal.db-shm", "lock"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_deleted_run_leaves_no_row_in_any_table(path: Path) -> None:
    store = SqliteStore(path)
    with store.writing() as writer:
        add_run(writer, "run-a", "word", labels=frozenset({"tag:a"}))
        writer.put_session(a_session_row())
        writer.put_snapshot("run-a", Snapshot(1, 1, b"state"))
        writer.put_blob("run-a", b"digest", b"data")
        writer.point("/project", "run-a")
    with store.writing() as writer:
        writer.delete_run("run-a")
    store.close()
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    own = [name for name in tables if not name.startswith(("sqlite_", "search_", "about"))]
    rows = {name: len(list(connection.execute(f"SELECT 1 FROM {name}"))) for name in own}
    connection.close()
    assert {"run", "event", "session", "snapshot", "blob", "blob_use", "label", "pointer"} <= rows.keys()
    assert set(rows.values()) == {0}


def test_store_of_a_newer_program_is_refused_and_left_alone(path: Path) -> None:
    SqliteStore(path).open().close()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE later (a)")
    connection.pragma("user_version", FORMAT + 1)
    connection.close()
    with pytest.raises(Refused, match="newer Holdfast") as refused:
        SqliteStore(path).open()
    assert ("format", str(FORMAT + 1)) in refused.value.facts


@pytest.mark.parametrize("content", [b"not a database " * 100, os.urandom(8192)], ids=["text", "noise"])
def test_file_that_is_no_database_is_called_damaged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Damaged):
        SqliteStore(path).open()
    assert path.read_bytes() == content


def test_place_that_cannot_hold_a_store_is_a_trouble_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(Trouble) as trouble:
        SqliteStore(tmp_path / "missing" / "journal.db").open()
    assert "missing" in dict(trouble.value.facts)["path"]


def test_store_that_died_while_it_was_made_is_finished(path: Path) -> None:
    path.touch(0o600)
    store = SqliteStore(path)
    with store.writing() as writer:
        writer.put_run(a_run_row())
    with store.reading() as reader:
        assert reader.problems() == []
    store.close()


def test_log_is_written_back_when_it_has_grown_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.journal.sqlite.store.LOG_PAGES", 20)
    store = SqliteStore(path)
    for number in range(60):
        with store.writing() as writer:
            add_run(writer, f"run-{number}", "word " * 100)
    log = path.with_name("journal.db-wal").stat().st_size
    store.close()
    assert log < 60 * 4096 * 4
