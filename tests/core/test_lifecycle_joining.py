"""Which run a new conversation joins, and when the run wakes, against tables written by hand."""

from __future__ import annotations

import itertools
from pathlib import Path
from runpy import run_path

import pytest

from holdfast.core import lifecycle
from holdfast.core.lifecycle import Claim, joins
from holdfast.core.model import OPEN, Run, Status

REFERENCE = run_path(str(Path(__file__).parents[2] / "scripts" / "reference"))
# For each claim: nobody on it and recent, nobody and old, somebody and recent, somebody and old.
BY_HAND = {
    Claim.CHOSEN: "joins joins own own",
    Claim.CURRENT: "joins own own own",
    Claim.ONLY: "joins own own own",
    Claim.SEVERAL: "own own own own",
    Claim.NONE: "own own own own",
}
CELLS = [
    (claim, living, recent, word == "joins")
    for claim, words in BY_HAND.items()
    for (living, recent), word in zip(
        itertools.product((False, True), (True, False)), words.split(), strict=True
    )
]  # fmt: skip
# The status after: a conversation begins, a typed command, the first prompt, an action or end of a turn, the end.
WAKING = {
    "created": "active created active active created",
    "active": "active active active active active",
    "paused": "paused paused active paused paused",
    "interrupted": "active interrupted active active interrupted",
}


def test_the_table_by_hand_has_every_claim() -> None:
    assert list(BY_HAND) == list(Claim)


@pytest.mark.parametrize(("claim", "living", "recent", "expected"), CELLS)
def test_a_new_conversation_joins_by_the_table(claim: Claim, living: bool, recent: bool, expected: bool) -> None:
    assert joins(claim, living=living, recent=recent) is expected


def test_a_row_of_the_printed_table_stands_for_each_rule() -> None:
    lines = REFERENCE["joining_table"]().splitlines()
    assert len(lines) == 2 + len(lifecycle.RULES)
    assert lines[2] == "| chosen by `start`, `switch`, `resume`, `join` or `run` | no | - | joins it |"


@pytest.mark.parametrize("status", [status for status in Status if status in OPEN])
def test_a_run_wakes_by_the_table(status: Status) -> None:
    assert f"| {status} | {' | '.join(WAKING[status].split())} |" in REFERENCE["waking_table"]()


@pytest.mark.parametrize("status", [status for status in Status if status in OPEN])
def test_the_pointer_of_a_worktree_is_a_choice_where_a_command_has_set_it(status: Status) -> None:
    asked, unasked = Run("run-a", status=status), Run("run-b", status=status, unasked=True)
    assert lifecycle.claim(asked, [asked, unasked]) == (Claim.CHOSEN, asked)
    assert lifecycle.claim(unasked, [asked, unasked]) == (Claim.CURRENT, unasked)
    assert lifecycle.claim(None, [asked]) == (Claim.ONLY, asked)
    assert lifecycle.claim(None, [asked, unasked]) == (Claim.SEVERAL, None)
    assert lifecycle.claim(None, []) == (Claim.NONE, None)
