"""The events of all runs, stored and folded. `open_store` opens a store."""

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
    """The store in a directory; `held` is that directory if it is held open. It is opened, or created, on first use."""
    if found := SCHEME.match(url):
        hints = ["give the directory of a store"]
        raise Refused(f"This version has no store for {found[1]}:// addresses", [], hints)
    from holdfast.journal.sqlite.store import SqliteStore  # lazy: slow to load

    return SqliteStore(Path(url) / "journal.db", deadline, held)
