"""The lifecycle, against a table written by hand."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest
from hypothesis import given, strategies as st

from holdfast.core import lifecycle
from holdfast.core.errors import Refused
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import OPEN, Status
from tests.strategies import examples

REFERENCE = run_path(str(Path(__file__).parents[2] / "scripts" / "reference"))
STEPS = ["tell", "attend", "act", "resume", "pause", "interrupt", "complete", "fail", "abort", "abandon", "reopen"]
# What each status becomes by each of these steps; "=" stays as it is, "no" is refused.
BY_HAND = {
    "created": "active active active active paused interrupted completed failed aborted abandoned =",
    "active": "= = = = paused interrupted completed failed aborted abandoned =",
    "paused": "= = active active = = completed failed aborted abandoned =",
    "interrupted": "= active active active paused = completed failed aborted abandoned =",
    "completed": "= = = no no = = no no no active",
    "failed": "= = = no no = no = no no active",
    "aborted": "= = = no no = no no = no active",
    "abandoned": "= = = no no = no no no = active",
}
CELLS = [
    (status, step, after)
    for status, row in BY_HAND.items()
    for step, after in zip(STEPS, row.split(), strict=True)
]  # fmt: skip
MOVES = [cell for cell in CELLS if cell[2] not in ("=", "no")]
STAYS = [cell[:2] for cell in CELLS if cell[2] == "="]
REFUSALS = [cell[:2] for cell in CELLS if cell[2] == "no"]


def test_the_table_by_hand_has_every_status_and_every_step() -> None:
    assert list(BY_HAND) == list(Status)
    assert list(Move) == STEPS
    assert len(CELLS) == len(Status) * len(Move)


@pytest.mark.parametrize(("status", "step", "after"), MOVES)
def test_a_step_that_moves_a_run_has_its_status(status: str, step: str, after: str) -> None:
    assert transition(Status(status), Move(step)) is Status(after)


@pytest.mark.parametrize(("status", "step"), STAYS)
def test_a_step_that_changes_nothing_leaves_the_status(status: str, step: str) -> None:
    assert transition(Status(status), Move(step)) is Status(status)


@pytest.mark.parametrize(("status", "step"), REFUSALS)
def test_a_step_out_of_the_table_is_refused_with_the_reason_and_the_way_out(status: str, step: str) -> None:
    with pytest.raises(Refused) as refused:
        transition(Status(status), Move(step))
    assert refused.value.message == f"A run that is {status} cannot {step}"
    assert refused.value.facts == [("status", status), ("asked for", step)]
    assert any("`holdfast start" in hint for hint in refused.value.hints)
    assert any("`holdfast runs`" in hint for hint in refused.value.hints)


def drawn() -> set[tuple[str, str, str]]:
    """Every arrow between two statuses in the drawing, as (before, after, step)."""
    arrows = set()
    for line in REFERENCE["diagram"]().splitlines():
        route, _, steps = line.strip().partition(": ")
        before, _, after = route.partition(" --> ")
        if after and "[*]" not in (before, after):
            arrows |= {(before, after, step) for step in steps.split(", ")}
    return arrows


def test_the_drawing_has_every_arrow_of_the_table_and_no_other() -> None:
    assert drawn() == {(status, after, step) for status, step, after in MOVES}


def test_the_drawing_begins_with_a_start_and_ends_where_runs_end() -> None:
    lines = REFERENCE["diagram"]().splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> created: start"]
    assert {line.split()[0] for line in lines if line.endswith("--> [*]")} == set(Status) - OPEN


def test_the_drawing_is_made_by_asking_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lifecycle.TABLE, (Status.ACTIVE, Move.TELL), Status.PAUSED)
    assert ("active", "paused", "tell") in drawn()


@examples
@given(
    st.sampled_from(sorted(set(Status) - OPEN)),
    st.lists(st.sampled_from([move for move in Move if move is not Move.REOPEN])),
)
def test_what_has_ended_stays_ended_whatever_is_asked_of_it_but_to_reopen(ended: Status, steps: list[Move]) -> None:
    status = ended
    for step in steps:
        try:
            status = transition(status, step)
        except Refused:
            continue
    assert status is ended
