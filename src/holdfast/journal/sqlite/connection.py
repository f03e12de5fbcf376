"""Opening a database file of ours: the settings that every connection needs, and SQLite's failures in our words."""

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

FORMAT = 3  # the number of the newest file in schema/
SUMMED = "run, seq, id, kind, time, session, agent, body"  # columns of an event that its checksum is about
WAYS = ["`holdfast verify --deep` names what is wrong", "`holdfast repair` rebuilds it from what is left"]


def connect(path: Path, *, writable: bool = True, deadline: float = 10.0) -> apsw.Connection:
    """Open a file that is there. Its schema is not trusted to be ours, and closing it writes nothing back."""
    flags = apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(name_for_sqlite(path), flags=flags, vfs=way_to(path))
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
    """The checksum of an event's row. Its run and number are in it, so that a row in another place is found too.

    One flipped bit can make another type of a value. Such a row has a sum that none was ever written with.
    """
    run, seq, id, kind, time, session, agent, body = row
    try:
        head = "\0".join((str(run), str(seq), kind, str(time), session or "", agent or "", ""))
        return zlib.crc32(body, zlib.crc32(id, zlib.crc32(head.encode())))
    except TypeError:
        return -1


def new_of(path: Path) -> Path:
    """The database that is about to take the place of another one."""
    return path.with_name(path.name + ".new")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's failures in our words."""
    try:
        yield
    except apsw.Error as error:
        raise _in_our_words(error, path) from error
    except UnicodeDecodeError as error:  # a text that is none any more
        raise Damaged("The store is damaged", [("store", path), ("error", error)], WAYS) from error


def _in_our_words(error: apsw.Error, path: Path) -> HoldfastError:
    facts = [("store", path), ("error", error)]
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy("The store is locked by another program", facts, ["run the command again"])
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError() | apsw.SQLError():
            return Damaged("The store is damaged", facts, WAYS)
        case apsw.FullError():
            return Trouble("The disk is full", facts, ["free some space, then run the command again"])
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            import shlex  # takes its time to load

            place = shlex.quote(known(str(path.parent)))
            return Trouble("The store cannot be written", facts, [f"look at `ls -ld {place}`"])
        case apsw.IOError():
            return Trouble("The disk reports an error", facts, ["look at `dmesg`", "free some space"])
    raise error


def write_by(mode: str, connection: apsw.Connection, path: Path) -> None:
    """Say how SQLite shall write: `wal`, into a log first, or `delete`. Unheard, it passes over that it could not."""
    if connection.execute(f"PRAGMA journal_mode = {mode}").get != mode:
        raise Trouble("SQLite cannot write as it should", [("store", path)], ["free some space", "look at `dmesg`"])


class AsNamed(apsw.VFS):
    """SQLite's own way to files, but for this: it takes a name as it is, and does not ask where it leads.

    Otherwise it would follow the name of a directory that is held open to that directory's name, and then open its log
    by that one, whatever stands there by then.
    """

    NAME = "holdfast-as-named"

    def __init__(self) -> None:
        super().__init__(self.NAME, "")

    def xFullPathname(self, name: str) -> str:
        return name


@functools.cache
def _as_named() -> AsNamed:
    return AsNamed()


def way_to(path: Path) -> str | None:
    """What SQLite opens a file with: its own way, or ours for a file by way of a directory that is held open."""
    return _as_named().NAME if str(path).startswith(HELD) else None  # safeguard: pinned-log


def name_for_sqlite(path: Path) -> str:
    """SQLite wants names in UTF-8. A directory whose name is not has another one, as long as we keep it open."""
    try:
        str(path).encode()
        return str(path)
    except UnicodeEncodeError:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"{HELD}{directory}/{path.name}"
