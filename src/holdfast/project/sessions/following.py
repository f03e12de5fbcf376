"""The session in which the work of an earlier one goes on: a conversation that went over to another run has a new one.

The environment of a supervised command names the session that it began with, and cannot change.
"""

from __future__ import annotations

from holdfast.core.model import Session
from holdfast.journal.journal import Journal

MOST = 1_000  # runs that one conversation goes over to


def find_followed(journal: Journal, id: str) -> Session | None:
    """The session of that id, or the last of those that followed it."""
    found = journal.find_session(id)
    for _ in range(MOST):
        later = journal.find_session(found.followed_by) if found and found.followed_by else None
        if later is None:
            break
        found = later
    return found
