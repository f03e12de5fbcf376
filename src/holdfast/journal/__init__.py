"""Events of all runs, stored and folded; the stores are reached through `open_store`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.core.errors import Refused

if TYPE_CHECKING:
    from holdfast.journal.store import Store
    from holdfast.system.files import Held

SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://")


def open_store(url: str, deadline: float = 10.0, held: Held | None = None) -> Store:
    """The store of a directory, which may be one that is held open; nothing is read or made before it is used."""
    if found := SCHEME.match(url):
        hints = ["give the directory of a store"]
        raise Refused(f"A journal cannot lie at a {found[1]}:// address: this version has no such store", [], hints)
    from holdfast.journal.sqlite.store import SqliteStore  # databases take their time to load

    return SqliteStore(Path(url) / "journal.db", deadline, held)
