"""Giving free pages of the database back to the file system, a few at a time, so that nobody waits for long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import apsw

STEP = 2_000  # pages
WORTH_IT = 64  # free pages that are left to be used again
INCREMENTAL = 2  # of `auto_vacuum`; a store of an earlier format has none before it is first rebuilt


def shrink(
    connection: apsw.Connection,
    locked: Callable[[], AbstractContextManager[None]],
    write_back: Callable[[], bool],
    told: Callable[[int, int], None],
) -> None:
    """Make the file as small as what it holds. Killed at any point, it is whole, and the next one goes on."""
    total = _free(connection)
    if total <= WORTH_IT:
        return
    if connection.pragma("auto_vacuum") != INCREMENTAL:
        with locked():
            connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}; VACUUM")
            write_back()
    while free := _free(connection):
        with locked():
            connection.execute(f"PRAGMA incremental_vacuum({STEP})").fetchall()
            write_back()
        told(total - free, total)
        if _free(connection) >= free:
            return
    told(total, total)


def _free(connection: apsw.Connection) -> int:
    return int(connection.pragma("freelist_count"))
