"""The check of appended events: a test fails if the code appends one with a key that `core/event_kinds.py` lacks.

A plugin for pytest, loaded by conftest.py. Events that a test makes itself may have any keys.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from holdfast.core.event_kinds import COMMON, KINDS, LATE
from holdfast.core.model import Draft, Event
from holdfast.journal.journal import Journal


def undeclared(draft: Draft) -> set[str]:
    """The keys of an event that its kind does not have; the kind itself, if it is unknown."""
    if draft.kind not in KINDS:
        return {draft.kind}
    known = {*KINDS[draft.kind].keys, *COMMON}
    return set() if draft.kind == LATE else {f"{draft.kind}: {key}" for key in draft.body.keys() - known}


@pytest.fixture(autouse=True)
def declared_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    append = Journal.append
    found: set[str] = set()

    def append_declared(journal: Journal, run_id: str, *drafts: Draft) -> list[Event]:
        if sys._getframe(1).f_globals["__name__"].startswith("holdfast."):
            found.update(*map(undeclared, drafts))
        return append(journal, run_id, *drafts)

    monkeypatch.setattr(Journal, "append", append_declared)
    yield
    assert found == set(), "core/event_kinds.py does not declare these"
