"""The reasons of checkpoints, as journals hold them."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.core.fold.run import record_of
from holdfast.core.model import Checkpoint, Reason

WAYS_BACK = ["restore", "continue", "undo", "redo", "rollback", "resume", "guard", "bisect", "fresh-start"]
STATES = ["asked", "saved", "passed", "turn", "step", "paused", "interrupted", "ended", "foreign", "before-compaction"]


def a_checkpoint(kind: str) -> Checkpoint:
    stored = {"id": "cp-1", "worktree": ".", "number": 1, "time": "2026-01-01T00:00:00Z", "tree": "t", "beside": "b"}
    return msgspec.convert({**stored, "kind": kind}, Checkpoint)


@pytest.mark.parametrize("verb", WAYS_BACK)
def test_a_checkpoint_of_what_a_way_back_replaced_is_no_state_to_resume_from(verb: str) -> None:
    assert Reason.before(verb).is_way_back
    assert a_checkpoint(f"before-{verb}").reason is Reason.before(verb)


@pytest.mark.parametrize("kind", [*STATES, "before-lunch", "", "ASKED"])
def test_any_other_checkpoint_is_and_keeps_the_text_it_was_stored_with(kind: str) -> None:
    made = a_checkpoint(kind)
    assert not made.reason.is_way_back
    assert made.reason == (kind if kind in STATES else "other")
    assert made.kind == kind
    assert record_of(made).get("kind", "") == kind


def test_a_reason_is_stored_as_its_text() -> None:
    made = msgspec.structs.replace(a_checkpoint("asked"), kind=Reason.BEFORE_COMPACTION)
    assert msgspec.json.decode(msgspec.json.encode(record_of(made)))["kind"] == "before-compaction"
