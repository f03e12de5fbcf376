"""The embedded store: SQLite in WAL mode, through apsw.

Every commit is on disk when it returns (`synchronous=FULL`). Writers queue at a lock file before SQLite sees them,
because SQLite's own waiting starves some of them. Short commands do not write the log back into the database, except
the one that finds it longer than `LOG_PAGES`, and that one does it alone, under the same lock. Whoever does it keeps a
checksum of each page that it wrote: see `pages.py`.
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
from holdfast.journal.sqlite.connection import FORMAT as FORMAT, connect, translated
from holdfast.journal.sqlite.transaction import SqliteView
from holdfast.system.files import PRIVATE_FILE, Held, lock, os_errors
from holdfast.system.safe_paths import open_directory

LOG_PAGES = 100  # 400 KB
PAGES_AT_ONCE = 5_000  # that are compared while writers wait
NEVER = -1  # the number of no file
TRIES = 10  # to open a database whose place others take meanwhile


class Look(NamedTuple):
    inode: int
    size: int


class SqliteStore:
    """One database file. Open it once per process, and never fork while it is open."""

    def __init__(self, path: Path, deadline: float = 10.0, held: Held | None = None) -> None:
        """The database at a path; if that leads by way of a directory that is held open, look that it is in place."""
        self.path = path
        self._held = held
        self.deadline = deadline
        named = held.path / path.name if held else path  # a look by name costs half as much, and tells no more
        self._name, self._new = str(named), str(new_of(named))
        self._connection = self._open()

    def close(self) -> None:
        self._connection.close()

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
        with self.locked(), translated(self.path):
            self._open_what_replaced_it()
            self._connection.execute("BEGIN IMMEDIATE")
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
        return lock(self.path.with_name("lock"), self.deadline)

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

    def file_problems(self, told: Callable[[int, int], None]) -> list[str]:
        """Pages of the database and the log that are not what was written. Writers wait for a moment at a time."""
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
            told(first - 1, max(first - 1, self.path.stat().st_size // page_checksums.PAGE))
        return problems

    def copy(self, target: Path, told: Callable[[int, int], None]) -> dict[str, int]:
        """Copy the database as it is now into a new file, and check it. Answers with the rows of each table."""
        from holdfast.journal.sqlite.copy import copy_database  # only backups need it

        self._open_what_replaced_it()
        return copy_database(self._connection, target, told)

    def shrink(self, told: Callable[[int, int], None]) -> None:
        """Give pages that hold nothing any more back to the file system."""
        from holdfast.journal.sqlite.vacuum import shrink  # only tidying needs it

        self._open_what_replaced_it()
        with translated(self.path):
            shrink(self._connection, self.locked, self.write_back, told)

    def scrub(self) -> None:
        """Leave no byte of what was deleted: neither in the database nor in its log."""
        from holdfast.journal.sqlite.scrubbing import scrub  # only purging needs it

        with self.locked(), translated(self.path):
            self._open_what_replaced_it()
            scrub(self._connection, self.write_back, self.deadline)

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
            stack.callback(connection.close)
            self._log_pages = 0
            connection.set_wal_hook(self._note_log)
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
        if self._held is not None and not self._held.is_in_place():
            self._held.renew()
        try:
            if os.stat(self._name).st_ino == self._inode and not os.path.exists(self._new):
                return
        except FileNotFoundError:
            pass
        self._connection.close()
        self._connection = self._open()

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
            if self._look().inode != inode:
                return False
            self._connection = connection
            upgrade(connection, self.path)
            self.write_back()
        return True


def new_of(path: Path) -> Path:
    """The database that is about to take the place of another one: see `replacing.py`."""
    return path.with_name(path.name + ".new")


def _changed(number: int) -> str:
    if not number:
        return "journal.sums, which knows what each page should be, cannot be read"
    return f"page {number} of the database has changed since it was written"
