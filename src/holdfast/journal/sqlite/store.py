"""The embedded store: SQLite in WAL mode, through apsw.

Every commit is on disk when it returns (`synchronous=FULL`). Writers queue at a lock file before SQLite sees them,
because SQLite's busy handler starves some of them. A WAL checkpoint runs only after a commit that finds the log longer
than `LOG_PAGES`, under the same lock. It records a checksum of each page that it writes: see `page_checksums.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from holdfast.core.errors import Busy, Damaged, HoldfastError
from holdfast.journal.sqlite import page_checksums
from holdfast.journal.sqlite.connection import FORMAT, connect, replacement_path, translated
from holdfast.journal.sqlite.transaction import SqliteView
from holdfast.journal.store import Copied, Rebuilding, Rebuilt
from holdfast.system.files import PRIVATE_FILE, Held, lock, os_errors
from holdfast.system.safe_paths import open_directory

LOG_PAGES = 100  # 400 KB
NO_INODE = -1
TRIES = 10  # to open a database that other processes replace meanwhile


class FileId(NamedTuple):
    inode: int
    size: int


class SqliteStore:
    """One database file, opened by the first read or write. Never fork while it is open."""

    def __init__(self, path: Path, deadline: float = 10.0, held: Held | None = None) -> None:
        self.path = path
        self._held = held
        self.deadline = deadline
        named = held.path / path.name if held else path  # `stat` by name costs half as much as through the directory
        self._name, self._new = str(named), str(replacement_path(named))
        self._opened: apsw.Connection | None = None
        self._inode = NO_INODE

    def open(self) -> apsw.Connection:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    @property
    def _connection(self) -> apsw.Connection:
        return self.open()

    def exists(self) -> bool:
        return self.path.exists()

    def size(self) -> int:
        return os.stat(self.path).st_size

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def changes(self) -> int:
        return self._connection.total_changes()

    def data_version(self) -> int:
        self._reopen_if_replaced()
        with translated(self.path):
            return int(self._connection.pragma("data_version"))

    def has_processes(self) -> bool:
        self._reopen_if_replaced()
        with translated(self.path):
            select = "SELECT EXISTS (SELECT 1 FROM session WHERE is_open = 1 AND has_process = 1)"
            return bool(self._connection.execute(select).get)

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteView]:
        self._reopen_if_replaced()
        with translated(self.path):
            self._connection.execute("BEGIN")
            try:
                yield SqliteView(self._connection)
            finally:
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteView]:
        self.open()  # before the lock, which creating or migrating the database takes itself
        with self.locked(), translated(self.path):
            self._reopen_if_replaced()
            self._connection.execute("BEGIN IMMEDIATE")  # safeguard: lock-transaction
            try:
                yield SqliteView(self._connection)
                self._commit()
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            if self._log_pages > LOG_PAGES:
                self.write_back()

    def _commit(self) -> None:
        """Commit. After a failure the outcome is only in the log, so the next use opens the database again."""
        try:
            self._connection.execute("COMMIT")
        except apsw.Error:
            self._inode = NO_INODE
            raise

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Hold the writers' lock."""
        return lock(self.path.with_name("lock"), self.deadline)  # safeguard: lock-writers

    def write_back(self) -> bool:
        """Checkpoint and truncate the log; False if a reader prevents it. The caller is the only writer.

        Without the truncation, the next process could not know that the log was copied. The checksums of its pages are
        recorded first: every page outside the log has one.
        """
        self._connection.set_busy_timeout(0)
        try:
            logged, _ = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            page_checksums.record_log(self.path, logged)
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            if not page_checksums.sums_path(self.path).exists():
                page_checksums.record_all(self.path)
            return True
        except (apsw.BusyError, apsw.LockedError):  # left to a later commit
            return False
        finally:
            self._connection.set_busy_timeout(int(self.deadline * 1000))

    # health and space

    def verify(self, progress: Callable[[int, int], None]) -> list[str]:
        from holdfast.journal.sqlite.health import changed_bytes  # lazy, as all imports below: commands rarely need it

        self.open()
        return changed_bytes(self.path, self.locked, progress)

    def shrink(self, progress: Callable[[int, int], None]) -> None:
        from holdfast.journal.sqlite.health import shrink

        self._reopen_if_replaced()
        with translated(self.path):
            shrink(self._connection, self.locked, self.write_back, progress)

    def scrub(self) -> None:
        from holdfast.journal.sqlite.health import scrub

        self.open()
        with self.locked(), translated(self.path):
            self._reopen_if_replaced()
            scrub(self._connection, self.write_back, self.deadline)

    def backup(self, target: Path, progress: Callable[[int, int], None]) -> Copied:
        from holdfast.journal.sqlite.copy import copy_database

        self._reopen_if_replaced()
        return Copied(FORMAT, copy_database(self._connection, target, progress))

    def check_backup(self, copy: Path, rows: dict[str, int]) -> None:
        from holdfast.journal.sqlite.migrations import check_copy

        check_copy(copy, rows)
        SqliteStore(copy).open().close()

    def replace(self, copy: Path, aside: Path) -> Path | None:
        from holdfast.journal.sqlite.copy import replace_database

        self.close()
        return replace_database(self.path, copy, aside)

    def is_unfinished(self) -> bool:
        return replacement_path(self.path).exists()

    def finish_replacing(self, aside: Path) -> Path | None:
        from holdfast.journal.sqlite.copy import finish_replacing

        self.close()
        return finish_replacing(self.path, aside)

    def rebuild(self, room: Path, backups: list[Path], aside: Path, journal: Rebuilding) -> Rebuilt:
        from holdfast.journal.sqlite.rebuild import rebuild

        self.close()
        return rebuild(self.path, room, SqliteStore(room / self.path.name), backups, aside, journal)

    # opening

    def _open(self) -> apsw.Connection:
        for _ in range(TRIES):
            if os.path.exists(self._new):
                facts = [("waiting", self._new)]
                raise Damaged("A repair or a restore of the store was interrupted", facts, ["`holdfast repair`"])
            if not self._stat().size:
                self._create()
            if connection := self._try_open():
                return connection
        hints = ["run the command again"]
        raise Busy("Other processes keep replacing the store while it is opened", [("store", self.path)], hints)

    def _try_open(self) -> apsw.Connection | None:
        """Open the database of this name; None if another one got the name meanwhile.

        The inode is read before. Read afterwards, it could be that of a database which replaced the opened one, and a
        commit to the opened one would be acknowledged and lost.
        """
        inode = self._stat().inode
        try:
            with translated(self.path):
                connection = connect(self.path, deadline=self.deadline)
                return connection if self._is_ready(connection, inode) else None
        except HoldfastError:
            if inode == self._stat().inode != NO_INODE:
                raise
            return None  # the old database with the log of the new one, which looks like damage

    def _is_ready(self, connection: apsw.Connection, inode: int) -> bool:
        """True if the database still has its name and is of our format; otherwise the connection is closed."""
        with contextlib.ExitStack() as stack:
            self._opened = connection
            stack.callback(self.close)
            self._log_pages = 0
            connection.set_wal_hook(self._note_log_pages)
            # safeguard: store-replaced-while-opened
            if self._stat().inode != inode or not self._migrate(connection, inode):
                return False
            self._inode = inode
            stack.pop_all()
        return True

    def _stat(self) -> FileId:
        """The file that has the name now, found through the same directory as by the connection."""
        with os_errors(self.path):
            try:
                status = os.stat(self.path)
            except (FileNotFoundError, NotADirectoryError):
                return FileId(NO_INODE, 0)
        return FileId(status.st_ino, status.st_size)

    def _create(self) -> None:
        """Create an empty private file; SQLite gives its other files the same mode."""
        if page_checksums.sums_path(self.path).exists() or page_checksums.log_path(self.path).exists():
            hints = ["`holdfast repair` rebuilds it from backups and the inbox"]
            raise Damaged("The journal is gone", [("path", self.path)], hints)
        with os_errors(self.path), contextlib.suppress(FileExistsError):
            # through its directory, which may have been replaced by a link since it was checked
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            directory = open_directory(self.path.parent, flags)
            try:
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
                descriptor = os.open(self.path.name, flags, PRIVATE_FILE, dir_fd=directory)
                os.fchmod(descriptor, PRIVATE_FILE)
                os.close(descriptor)
                os.fsync(directory)
            finally:
                os.close(directory)

    def _reopen_if_replaced(self) -> None:
        """Open the file that a repair has put there. Commits to the old one would be lost."""
        if self._held is not None and not self._held.is_in_place():  # safeguard: store-replaced
            self._held.renew()
        try:
            if self._opened and os.stat(self._name).st_ino == self._inode and not os.path.exists(self._new):
                return
        except FileNotFoundError:
            pass
        self.close()
        self._opened = self._open()

    def _note_log_pages(self, _connection: apsw.Connection, _name: str, count: int) -> int:
        self._log_pages = count
        return apsw.SQLITE_OK

    def _migrate(self, connection: apsw.Connection, inode: int) -> bool:
        """Bring the database to our format; False if another one replaced it before we had the lock."""
        version = int(connection.pragma("user_version"))
        if version == FORMAT:
            return True
        from holdfast.journal.sqlite.migrations import refuse_newer, upgrade

        if not 0 <= version <= FORMAT:
            refuse_newer(connection, self.path, version)
        with self.locked():
            if self._stat().inode != inode:  # safeguard: store-replaced-while-migrated
                return False
            upgrade(connection, self.path, SqliteView(connection).blob)
            self.write_back()
        return True
