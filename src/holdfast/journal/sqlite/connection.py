"""Connections to a database file: the settings that each needs, and the translation of SQLite's errors."""

from __future__ import annotations

import contextlib
import functools
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from holdfast.core.errors import Busy, Damaged, HoldfastError, Trouble, known
from holdfast.system.safe_paths import HELD

FORMAT = 4  # the number of the newest file in schema/
SUMMED = "run, seq, id, kind, time, session, agent, body"  # columns of an event that its checksum covers
WAYS = ["`holdfast verify --deep` names the damage", "`holdfast repair` rebuilds the store from what is left"]


def connect(path: Path, *, writable: bool = True, deadline: float = 10.0) -> apsw.Connection:
    """Open an existing file. Its schema is not trusted, and closing it does not checkpoint the log."""
    flags = apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(name_for_sqlite(path), flags=flags, vfs=vfs_for(path))
    connection.set_busy_timeout(int(deadline * 1000))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.create_scalar_function("event_sum", event_sum, 8, deterministic=True)
    # safeguard: sync-journal-commits
    connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA cache_size = -16000")  # kilobytes: a batch of calls should not spill
    return connection


def event_sum(*row: Any) -> int:
    """The checksum of an event's row. It covers run and number, so that a misplaced row is detected too.

    A flipped bit can change the type of a value. Such a row gets -1, which no row is written with.
    """
    run, seq, id, kind, time, session, agent, body = row
    try:
        head = "\0".join((str(run), str(seq), kind, str(time), session or "", agent or "", ""))
        return zlib.crc32(body, zlib.crc32(id, zlib.crc32(head.encode())))
    except TypeError:
        return -1


def replacement_path(path: Path) -> Path:
    """The path of the database that is about to replace another one."""
    return path.with_name(path.name + ".new")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path) from error
    except UnicodeDecodeError as error:  # damaged text
        raise Damaged("The store is damaged", [("store", path), ("error", error)], WAYS) from error


def _translate(error: apsw.Error, path: Path) -> HoldfastError:
    facts = [("store", path), ("error", error)]
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy("The store is locked by another program", facts, ["run the command again"])
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError() | apsw.SQLError():
            return Damaged("The store is damaged", facts, WAYS)
        case apsw.FullError():
            return Trouble("The disk is full", facts, ["free some space, then run the command again"])
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            import shlex  # lazy: slow to load

            place = shlex.quote(known(str(path.parent)))
            return Trouble("The store cannot be written", facts, [f"look at `ls -ld {place}`"])
        case apsw.IOError():
            return Trouble("The disk reports an error", facts, ["look at `dmesg`", "free some space"])
    raise error


def set_journal_mode(mode: str, connection: apsw.Connection, path: Path) -> None:
    """Set the journal mode, `wal` or `delete`. SQLite itself does not report a failure."""
    if connection.execute(f"PRAGMA journal_mode = {mode}").get != mode:
        raise Trouble(
            f"SQLite cannot use the journal mode {mode}", [("store", path)], ["free some space", "look at `dmesg`"]
        )


@functools.cache  # registered once
class AsNamed(apsw.VFS):
    """SQLite's default VFS, except that it does not resolve links in a path.

    Otherwise it would resolve the path of an open directory (`/proc/self/fd/N`) to the directory's name, and open the
    log by that name, which another directory may have by then.
    """

    NAME = "holdfast-as-named"

    def __init__(self) -> None:
        super().__init__(self.NAME, "")

    def xFullPathname(self, name: str) -> str:
        return name


def vfs_for(path: Path) -> str | None:
    """The VFS that opens a file: the default, or `AsNamed` for a path through an open directory."""
    return AsNamed().NAME if str(path).startswith(HELD) else None  # safeguard: pinned-log


def name_for_sqlite(path: Path) -> str:
    """A path in UTF-8, as SQLite needs it: where a name is not, it leads through its directory, which stays open."""
    try:
        str(path).encode()
        return str(path)
    except UnicodeEncodeError:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"{HELD}{directory}/{path.name}"
