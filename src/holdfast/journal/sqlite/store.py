"""The embedded store: SQLite in WAL mode, through apsw.

Every commit is on disk when it returns (`synchronous=FULL`). Writers queue at a lock file before SQLite sees them,
because SQLite's own waiting starves some of them. Short commands do not write the log back into the database, except
the one that finds it longer than `LOG_PAGES`, and that one does it alone, under the same lock. Whoever does it keeps a
checksum of each page that it wrote: see `page_checksums.py`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from holdfast.core.errors import Busy, Damaged, HoldfastError
from holdfast.journal.sqlite import page_checksums
from holdfast.journal.sqlite.connection import FORMAT, connect, new_of, translated
from holdfast.journal.sqlite.transaction import SqliteView
from holdfast.journal.store import Copied, Rebuilding, Rebuilt
from holdfast.system.files import PRIVATE_FILE, Held, lock, os_errors
from holdfast.system.safe_paths import open_directory

LOG_PAGES = 100  # 400 KB
PAGES_AT_ONCE = 5_000  # that are compared while writers wait
NEVER = -1  # the number of no file
TRIES = 10  # to open a database whose place others take meanwhile
PAUSE = 0.02  # seconds between two looks at whether a reader has gone
STEP = 2_000  # pages that are given back while writers wait
WORTH_IT = 64  # free pages that are left to be used again
INCREMENTAL = 2  # of `auto_vacuum`; a store of an earlier format has none before it is first rebuilt


class Look(NamedTuple):
    inode: int
    size: int


class SqliteStore:
    """One database file, opened by what first reads or writes it. Never fork while it is open."""

    def __init__(self, path: Path, deadline: float = 10.0, held: Held | None = None) -> None:
        """The database at a path; if that leads by way of a directory that is held open, look that it is in place."""
        self.path = path
        self._held = held
        self.deadline = deadline
        named = held.path / path.name if held else path  # a look by name costs half as much, and tells no more
        self._name, self._new = str(named), str(new_of(named))
        self._opened: apsw.Connection | None = None
        self._inode = NEVER

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

    def moment(self) -> int:
        self._open_what_replaced_it()
        with translated(self.path):
            return int(self._connection.pragma("data_version"))

    def has_processes(self) -> bool:
        self._open_what_replaced_it()
        with translated(self.path):
            select = "SELECT EXISTS (SELECT 1 FROM session WHERE is_open = 1 AND has_process = 1)"
            return bool(self._connection.execute(select).get)

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteView]:
        self._open_what_replaced_it()
        with translated(self.path):
            self._connection.execute("BEGIN")
            try:
                yield SqliteView(self._connection)
            finally:
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteView]:
        self.open()  # before the lock, which making or upgrading the database takes itself
        with self.locked(), translated(self.path):
            self._open_what_replaced_it()
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
        """Once it has failed, only the log knows what is in it: whoever looks next opens it anew, as another would."""
        try:
            self._connection.execute("COMMIT")
        except apsw.Error:
            self._inode = NEVER
            raise

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Be the only writer."""
        return lock(self.path.with_name("lock"), self.deadline)  # safeguard: lock-writers

    def write_back(self) -> bool:
        """Empty the log; False where a reader is in the way. Whoever calls this is the only writer.

        Merely copying it would not do: the next process could not know that it was copied. The sums of its pages are
        kept first: once a page is no longer in the log, its sum is there.
        """
        self._connection.set_busy_timeout(0)
        try:
            logged, _ = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            page_checksums.note_log(self.path, logged)
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            if not page_checksums.sums_of(self.path).exists():
                page_checksums.note_all(self.path)
            return True
        except (apsw.BusyError, apsw.LockedError):  # the next one does it
            return False
        finally:
            self._connection.set_busy_timeout(int(self.deadline * 1000))

    # health

    def verify(self, told: Callable[[int, int], None]) -> list[str]:
        """Pages of the database and the log that are not what was written. Writers wait for a moment at a time."""
        self.open()
        problems: list[str] = []
        with self.locked():
            problem = page_checksums.read_log(page_checksums.log_of(self.path)).problem
            problems += [problem] if problem else []
        first, more = 1, True
        while more:
            with self.locked():
                wrong, more = page_checksums.changed_pages(self.path, first, PAGES_AT_ONCE)
            problems += [_changed(number) for number in wrong]
            first += PAGES_AT_ONCE
            told(first - 1, max(first - 1, self.size() // page_checksums.PAGE))
        return problems

    def shrink(self, told: Callable[[int, int], None]) -> None:
        """Give free pages back to the file system, a few at a time. Killed at any point, the database is whole."""
        self._open_what_replaced_it()
        with translated(self.path):
            total = self._free_pages()
            if total <= WORTH_IT:
                return
            if self._connection.pragma("auto_vacuum") != INCREMENTAL:
                with self.locked():
                    self._connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}; VACUUM")
                    self.write_back()
            while before := self._free_pages():
                with self.locked():
                    self._connection.execute(f"PRAGMA incremental_vacuum({STEP})").fetchall()
                    self.write_back()
                told(total - before, total)
                if self._free_pages() >= before:
                    return
            told(total, total)

    def _free_pages(self) -> int:
        return int(self._connection.pragma("freelist_count"))

    def scrub(self) -> None:
        """Write the database anew, without what was deleted, and empty its log.

        Rows that move leave their bytes behind on the old page, so that zeroing what is deleted is not enough.
        """
        self.open()
        with self.locked(), translated(self.path):
            self._open_what_replaced_it()
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.execute("INSERT INTO search (search) VALUES ('optimize')")
            self._connection.execute("VACUUM")
            end = time.monotonic() + self.deadline
            while not self.write_back():
                if time.monotonic() > end:
                    said = "Another program reads the store, so that its log cannot be emptied"
                    raise Busy(said, [], ["run it again"])
                time.sleep(PAUSE)

    def backup(self, target: Path, told: Callable[[int, int], None]) -> Copied:
        """Copy the database as it is now into a new file, and check it."""
        from holdfast.journal.sqlite.copy import copy_database  # only backups need it

        self._open_what_replaced_it()
        return Copied(FORMAT, copy_database(self._connection, target, told))

    def check_backup(self, copy: Path, rows: dict[str, int]) -> None:
        """Check a copy that has so many rows, and bring it to this format."""
        from holdfast.journal.sqlite.migrations import check_copy

        check_copy(copy, rows)
        SqliteStore(copy).open().close()

    def replace(self, copy: Path, aside: Path) -> Path | None:
        from holdfast.journal.sqlite.copy import replace_database

        self.close()
        return replace_database(self.path, copy, aside)

    def is_unfinished(self) -> bool:
        return new_of(self.path).exists()

    def finish_replacing(self, aside: Path) -> Path | None:
        from holdfast.journal.sqlite.copy import finish_replacing

        self.close()
        return finish_replacing(self.path, aside)

    def rebuild(self, room: Path, backups: list[Path], aside: Path, journal: Rebuilding) -> Rebuilt:
        from holdfast.journal.sqlite.rebuild import rebuild  # only repairs need it

        self.close()
        return rebuild(self.path, room, SqliteStore(room / self.path.name), backups, aside, journal)

    # opening

    def _open(self) -> apsw.Connection:
        for _ in range(TRIES):
            if os.path.exists(self._new):
                raise Damaged(
                    "A repair or a restore of the store was broken off", [("waiting", self._new)], ["`holdfast repair`"]
                )
            if not self._look().size:
                self._create()
            if connection := self._open_what_is_there():
                return connection
        raise Busy("Others replace the store while it is opened", [("store", self.path)], ["run the command again"])

    def _open_what_is_there(self) -> apsw.Connection | None:
        """The database of this name; None where another one got the name meanwhile.

        Which one it is, is asked first. Asked afterwards, the name could mean a database that took the place of the one
        that is open: what is written into that would be acknowledged, and lost.
        """
        inode = self._look().inode
        try:
            with translated(self.path):
                connection = connect(self.path, deadline=self.deadline)
                return connection if self._is_ready(connection, inode) else None
        except HoldfastError:
            if inode == self._look().inode != NEVER:
                raise
            return None  # the old database does not fit to the log of the new one, and seems damaged

    def _is_ready(self, connection: apsw.Connection, inode: int) -> bool:
        """Whether it is the database that still has the name, and of our format; otherwise it is closed."""
        with contextlib.ExitStack() as stack:
            self._opened = connection
            stack.callback(self.close)
            self._log_pages = 0
            connection.set_wal_hook(self._note_log)
            # safeguard: store-replaced-while-opened
            if self._look().inode != inode or not self._bring_up_to_date(connection, inode):
                return False
            self._inode = inode
            stack.pop_all()
        return True

    def _look(self) -> Look:
        """What the name means now, by way of the same directory as the connection's."""
        with os_errors(self.path):
            try:
                status = os.stat(self.path)
            except (FileNotFoundError, NotADirectoryError):
                return Look(NEVER, 0)
        return Look(status.st_ino, status.st_size)

    def _create(self) -> None:
        """An empty file of the user's own; SQLite gives its other files the same mode."""
        if page_checksums.sums_of(self.path).exists() or page_checksums.log_of(self.path).exists():
            raise Damaged(
                "The journal is gone",
                [("path", self.path)],
                ["`holdfast repair` puts together what is left, from backups and the inbox"],
            )
        with os_errors(self.path), contextlib.suppress(FileExistsError):
            # by way of its directory, which may have become a link since it was looked at
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

    def _open_what_replaced_it(self) -> None:
        """A repair may have put another file there. What is written into the old one would be lost."""
        if self._held is not None and not self._held.is_in_place():  # safeguard: store-replaced
            self._held.renew()
        try:
            if self._opened and os.stat(self._name).st_ino == self._inode and not os.path.exists(self._new):
                return
        except FileNotFoundError:
            pass
        self.close()
        self._opened = self._open()

    def _note_log(self, _connection: apsw.Connection, _name: str, count: int) -> int:
        self._log_pages = count
        return apsw.SQLITE_OK

    def _bring_up_to_date(self, connection: apsw.Connection, inode: int) -> bool:
        """Let it be of our format; False where another one took its place before we were the only writer."""
        version = int(connection.pragma("user_version"))
        if version == FORMAT:
            return True
        from holdfast.journal.sqlite.migrations import (  # as much to load as all the rest, once in a while
            refuse_newer,
            upgrade,
        )

        if not 0 <= version <= FORMAT:
            refuse_newer(connection, self.path, version)
        with self.locked():
            if self._look().inode != inode:  # safeguard: store-replaced-while-migrated
                return False
            upgrade(connection, self.path)
            self.write_back()
        return True


def _changed(number: int) -> str:
    if not number:
        return "journal.sums, which knows what each page should be, cannot be read"
    return f"page {number} of the database has changed since it was written"
