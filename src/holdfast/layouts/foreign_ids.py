"""Ids that other systems gave to their runs, and whether they can name a run in the journal."""

from __future__ import annotations

import shlex

RESERVED = ("run-", "ses-", "cp-", "ledger-", "-")  # prefixes that mean something else


def is_usable(id: str) -> bool:
    """Whether an id is a single shell word, which hints can name, and is not of another kind."""
    return not id.startswith(RESERVED) and not id.isdecimal() and len(id) <= 200 and shlex.quote(id) == id
