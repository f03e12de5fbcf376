"""Making sure that what was deleted from the database is in no byte of it: not in free pages, nor between rows, nor in
the index of words, nor in the log."""

from __future__ import annotations

import time
from collections.abc import Callable

import apsw

from holdfast.core.errors import Busy

PAUSE = 0.02  # seconds between two looks at whether a reader has gone


def scrub(connection: apsw.Connection, write_back: Callable[[], bool], deadline: float) -> None:
    """Write the database anew, without what is not in it any more. Whoever calls this is the only writer.

    Rows that move leave their bytes behind on the old page, so that zeroing what is deleted is not enough.
    """
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("INSERT INTO search (search) VALUES ('optimize')")
    connection.execute("VACUUM")
    end = time.monotonic() + deadline
    while not write_back():
        if time.monotonic() > end:
            raise Busy("Another program reads the store, so that its log cannot be emptied", [], ["run it again"])
        time.sleep(PAUSE)
