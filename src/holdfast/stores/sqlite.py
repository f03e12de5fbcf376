"""The embedded store: SQLite in WAL mode, through apsw.

Every commit is on disk when it returns (`synchronous=FULL`). Writers queue at a lock file before SQLite sees them,
because SQLite's own waiting starves some of them. Short commands do not write the log back into the database, except
the one that finds it longer than `LOG_PAGES`, and that one does it alone, under the same lock.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from holdfast.errors import Busy, Damaged, HoldfastError, Refused, Trouble
from holdfast.files import PRIVATE_FILE, lock, os_errors, sync_directory
from holdfast.stores.sqlite_view import SqliteView

FORMAT = 2  # the number of the newest file in schema/
LOG_PAGES = 100  # 400 KB


class SqliteStore:
    """One database file. Open it once per process, and never fork while it is open."""

    def __init__(self, path: Path, deadline: float = 10.0) -> None:
        self.path = path
        self.deadline = deadline
        with _translated(path):
            self._connection = self._open()
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteView]:
        with _translated(self.path):
            self._connection.execute("BEGIN")
            try:
                yield SqliteView(self._connection)
            finally:
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteView]:
        with lock(self.path.with_name("lock"), self.deadline), _translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteView(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._write_back()

    def _open(self) -> apsw.Connection:
        if not self.path.exists():
            _create(self.path)
        connection = apsw.Connection(_name_for_sqlite(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(int(self.deadline * 1000))
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA cache_size = -16000")  # kilobytes: a batch of calls should not spill
        self._log_pages = 0
        connection.set_wal_hook(self._note_log)
        return connection

    def _note_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _write_back(self) -> None:
        """Empty the log. Merely copying it would not do: the next process could not know that it was copied."""
        if self._log_pages <= LOG_PAGES:
            return
        self._connection.set_busy_timeout(0)
        with contextlib.suppress(apsw.BusyError, apsw.LockedError):  # a reader is in the way; the next one does it
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.set_busy_timeout(int(self.deadline * 1000))

    def _migrate(self) -> None:
        version = self._version()
        if version > FORMAT:
            raise Refused(
                "This store was written by a newer Holdfast",
                [("store", self.path), ("format", version), ("this program reads up to", FORMAT)],
                ["`pip install --upgrade holdfast`"],
            )
        if version == FORMAT:
            return
        with lock(self.path.with_name("lock"), self.deadline), _translated(self.path):
            self._connection.execute("PRAGMA journal_mode = WAL")
            for number in range(self._version() + 1, FORMAT + 1):
                script = (Path(__file__).parent / "schema" / f"{number:04d}.sql").read_text()
                with self._connection:
                    self._connection.execute(script)
                    self._connection.execute(f"PRAGMA user_version = {number}")

    def _version(self) -> int:
        with _translated(self.path):
            return int(self._connection.pragma("user_version"))


def _name_for_sqlite(path: Path) -> str:
    """SQLite wants names in UTF-8. A directory whose name is not has another one, as long as we keep it open."""
    try:
        str(path).encode()
        return str(path)
    except UnicodeEncodeError:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{directory}/{path.name}"


def _create(path: Path) -> None:
    """An empty file of the user's own; SQLite gives its other files the same mode."""
    with os_errors(path), contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, PRIVATE_FILE)
        os.fchmod(descriptor, PRIVATE_FILE)
        os.close(descriptor)
        sync_directory(path.parent)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's failures in our words."""
    try:
        yield
    except apsw.Error as error:
        raise _in_our_words(error, path) from error


def _in_our_words(error: apsw.Error, path: Path) -> HoldfastError:
    facts = [("store", path), ("error", error)]
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy("The store is locked by another program", facts, ["run the command again"])
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            return Damaged("The store is damaged", facts, ["`holdfast verify` names what can still be read"])
        case apsw.FullError():
            return Trouble("The disk is full", facts, ["free some space, then run the command again"])
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return Trouble("The store cannot be written", facts, [f"look at `ls -ld {path.parent}`"])
        case apsw.IOError():
            return Trouble("The disk reports an error", facts, ["look at `dmesg`", "free some space"])
    raise error
