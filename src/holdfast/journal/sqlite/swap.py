"""Putting another database in the place of one, so that a kill at any point can be finished.

The new file is complete and synced before it is called `journal.db.new`. From then on nobody opens the store until it
has taken its place: the old file and its log go aside, and the new one gets the name. Whoever has the old file open
finds out by its inode.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import apsw

from holdfast.journal.sqlite.connection import connect, translated, write_by
from holdfast.journal.sqlite.page_checksums import log_of, note_all, sums_of
from holdfast.journal.sqlite.store import new_of
from holdfast.system.files import make_private_directory, os_errors, remove, sync_directory


def replace_database(path: Path, complete: Path, aside: Path) -> Path | None:
    """Let a database that nobody uses take the place of ours. Answers with where the old one is now."""
    _make_one_file(complete)
    with os_errors(complete):
        os.rename(complete, new_of(path))
        sync_directory(path.parent)
    return finish_replacing(path, aside)


def is_unfinished(path: Path) -> bool:
    return new_of(path).exists()


def finish_replacing(path: Path, aside: Path) -> Path | None:
    """Go on where a replacement was broken off. Whoever calls this is the only writer."""
    made = time.strftime("%Y%m%d-%H%M%S", time.gmtime(new_of(path).stat().st_mtime))
    place = aside / f"journal-{made}-{new_of(path).stat().st_ino:x}"
    with os_errors(path):
        for old in (path, log_of(path)):
            if old.exists() and old.stat().st_size:
                make_private_directory(aside)
                make_private_directory(place)
                os.rename(old, place / old.name)
                sync_directory(place)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(old)
        for stale in (path.with_name(path.name + "-shm"), sums_of(path)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(stale)
        os.rename(new_of(path), path)
        sync_directory(path.parent)
    note_all(path)
    return place if place.exists() else None


def _make_one_file(path: Path) -> None:
    """Let the database have no log beside it, and be ready for one."""
    with translated(path):
        connection = connect(path)
        try:
            write_by("wal", connection, path)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close()
    with os_errors(path), open(path, "rb") as file:
        os.fsync(file.fileno())
    for name in ("-wal", "-shm"):
        remove(path.with_name(path.name + name))
