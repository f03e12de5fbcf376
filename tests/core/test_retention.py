"""What may be forgotten, as a table: what is there, the rules, and what goes. Nothing that somebody needs ever does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast.core.model import Checkpoint, Restore, Run
from holdfast.core.retention import Rules, plan_retention, still_needed
from tests.tools import NOON

MINUTES, HOURS, DAYS = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def old(id: str, age: timedelta, **changes: Any) -> Checkpoint:
    return Checkpoint(
        **{"id": id, "worktree": ".", "number": 1, "time": NOON - age, "tree": "", "beside": "", **changes}
    )


def going(checkpoints: list[Checkpoint], needed: set[str] | None = None, rules: Rules | None = None) -> set[str]:
    """What would go. An id that is a number tells what its checkpoint weighs."""
    weights = {found.id: int(found.id) for found in checkpoints if found.id.isdecimal()}
    plan = plan_retention(checkpoints, needed or set(), NOON, rules or Rules(), weights=weights, ended={"gone"})
    return {found.id for found in plan}


# (what is there, rules, what goes)
TABLE: dict[str, tuple[list[Checkpoint], Rules, set[str]]] = {
    "nothing": ([], Rules(), set()),
    "one that is very old": ([old("a", 900 * DAYS)], Rules(), set()),
    "all of the last day stay": ([old(str(n), n * MINUTES) for n in range(100)], Rules(), set()),
    "one an hour of the last week": (
        [old("new", MINUTES), *(old(str(n), 2 * DAYS + n * HOURS) for n in range(48))],
        Rules(),
        set(),
    ),
    "two of one hour become one": (
        [old("new", MINUTES), old("a", 2 * DAYS + MINUTES), old("b", 2 * DAYS + 2 * MINUTES)],
        Rules(),
        {"b"},
    ),
    "one a day before that": (
        [old("new", MINUTES), old("a", 20 * DAYS), old("b", 20 * DAYS + HOURS), old("c", 21 * DAYS)],
        Rules(),
        {"b"},
    ),
    "the newest of a slot is the one that stays": (
        [old("new", MINUTES), old("b", 20 * DAYS + 2 * HOURS), old("a", 20 * DAYS + HOURS)],
        Rules(),
        {"b"},
    ),
    "a name keeps": (
        [old("new", MINUTES), old("a", 20 * DAYS), old("b", 20 * DAYS + HOURS, name="release")],
        Rules(most=1, oldest=DAYS),
        {"a"},
    ),
    "a pin keeps": (
        [old("new", MINUTES), old("a", 20 * DAYS), old("b", 20 * DAYS + HOURS, pinned=True)],
        Rules(most=1, oldest=DAYS),
        {"a"},
    ),
    "the newest stays whatever the rules": (
        [old("a", 40 * DAYS), old("b", 41 * DAYS)],
        Rules(oldest=DAYS, most=0),
        {"b"},
    ),
    "the newest of each worktree stays": (
        [old("a", 40 * DAYS), old("b", 41 * DAYS, worktree="other"), old("c", 42 * DAYS, worktree="other")],
        Rules(oldest=DAYS),
        {"c"},
    ),
    "at most so many": ([old(str(n), n * MINUTES) for n in range(5)], Rules(most=3), {"3", "4"}),
    "none older than": ([old(str(n), n * HOURS) for n in range(5)], Rules(oldest=2 * HOURS), {"3", "4"}),
    "worktrees do not share their slots": (
        [
            old("new", MINUTES),
            old("a", 20 * DAYS),
            old("b", 20 * DAYS, worktree="other"),
            old("c", 20 * DAYS, worktree="third"),
        ],
        Rules(),
        set(),
    ),
    "a clock that was ahead counts as now": (
        [old("a", -5 * DAYS), old("b", -5 * DAYS - MINUTES), old("c", MINUTES)],
        Rules(),
        set(),
    ),
    "a second exactly at the border of a day is still of the last day": (
        [old("a", MINUTES), old("b", DAYS), old("c", DAYS - MINUTES)],
        Rules(),
        set(),
    ),
    "one hour in which nothing was made leaves nothing to keep": (
        [old("new", MINUTES), old("a", 3 * DAYS), old("b", 3 * DAYS + 5 * HOURS)],
        Rules(),
        set(),
    ),
    "a named one takes the place of others in its slot": (
        [old("new", MINUTES), old("a", 20 * DAYS, name="x"), old("b", 20 * DAYS + HOURS)],
        Rules(),
        {"b"},
    ),
    "every named one stays, however many": (
        [old("new", MINUTES), *(old(str(n), 20 * DAYS + n * MINUTES, name="x") for n in range(5))],
        Rules(most=1),
        set(),
    ),
    "every pinned one stays, however old": (
        [old("new", MINUTES), *(old(str(n), 2000 * DAYS + n * MINUTES, pinned=True) for n in range(5))],
        Rules(oldest=DAYS),
        set(),
    ),
    "an empty name is a name": ([old("new", MINUTES), old("a", 20 * DAYS, name="")], Rules(most=1), set()),
    "pinned ones count among those that stay": (
        [old("new", MINUTES), old("a", HOURS, pinned=True), old("b", 2 * HOURS), old("c", 3 * HOURS)],
        Rules(most=3),
        {"c"},
    ),
    "what is too old goes although there are few": (
        [old("new", MINUTES), old("a", 10 * DAYS), old("b", 40 * DAYS)],
        Rules(oldest=30 * DAYS, most=100),
        {"b"},
    ),
    "what is too many goes although it is young": (
        [old("new", MINUTES), old("a", 2 * MINUTES), old("b", 3 * MINUTES)],
        Rules(oldest=30 * DAYS, most=2),
        {"b"},
    ),
    "at most none still leaves the last": ([old("a", MINUTES), old("b", HOURS)], Rules(most=0), {"b"}),
    "the last by number stays when the clock went back": (
        [old("a", MINUTES, number=1), old("b", 40 * DAYS, number=2)],
        Rules(oldest=DAYS),
        set(),
    ),
    "each worktree may have as many": (
        [
            *(old(f"a{n}", n * MINUTES) for n in range(3)),
            *(old(f"b{n}", n * MINUTES, worktree="other") for n in range(3)),
        ],
        Rules(most=2),
        {"a2", "b2"},
    ),
    "a removed worktree keeps its last one": (
        [old("a", MINUTES), old("b", 40 * DAYS, worktree="gone"), old("c", 41 * DAYS, worktree="gone")],
        Rules(most=1),
        {"c"},
    ),
    "a removed worktree loses its last one when that is too old": (
        [old("a", MINUTES), old("b", 40 * DAYS, worktree="gone")],
        Rules(oldest=30 * DAYS),
        {"b"},
    ),
    "a removed worktree does not lose what is pinned": (
        [old("a", MINUTES), old("b", 40 * DAYS, worktree="gone", pinned=True)],
        Rules(oldest=30 * DAYS),
        set(),
    ),
    "a removed worktree does not lose what has a name": (
        [old("a", MINUTES), old("b", 40 * DAYS, worktree="gone", name="x")],
        Rules(oldest=30 * DAYS),
        set(),
    ),
    "a removed worktree does not lose what is young": (
        [old("a", MINUTES), old("b", 20 * DAYS, worktree="gone")],
        Rules(oldest=30 * DAYS),
        set(),
    ),
    "all within the bytes": ([old("1000", MINUTES), old("2000", HOURS)], Rules(bytes=3000), set()),
    "the oldest beyond the bytes": (
        [old("1000", MINUTES), old("2000", HOURS), old("500", 2 * HOURS)],
        Rules(bytes=3000),
        {"500"},
    ),
    "the last stays though it alone is too large": (
        [old("9000", MINUTES), old("10", HOURS)],
        Rules(bytes=3000),
        {"10"},
    ),
    "what weighs nothing may stay within the bytes": (
        [old("3000", MINUTES), old("0", HOURS), old("1", 2 * HOURS)],
        Rules(bytes=3000),
        {"1"},
    ),
    "a named one beyond the bytes stays": (
        [old("3000", MINUTES), old("100", HOURS, name="x")],
        Rules(bytes=3000),
        set(),
    ),
    "a pinned one beyond the bytes stays": (
        [old("3000", MINUTES), old("100", HOURS, pinned=True), old("200", 2 * HOURS)],
        Rules(bytes=3000),
        {"200"},
    ),
    "no bytes at all leave the last": ([old("10", MINUTES), old("20", HOURS)], Rules(bytes=0), {"20"}),
    "no bound but thinning": (
        [old("new", MINUTES), *(old(str(n), 3 * DAYS + n * MINUTES) for n in range(60))],
        Rules(),
        {str(n) for n in range(60)} - {"0", "1"},
    ),
    "thinning starts from the newest of an hour": (
        [old("new", MINUTES), old("a", 2 * DAYS), old("b", 2 * DAYS + 30 * MINUTES), old("c", 2 * DAYS + HOURS)],
        Rules(),
        {"c"},
    ),
}


@pytest.mark.promise(11)
@pytest.mark.parametrize("case", TABLE)
def test_what_may_go_and_what_stays(case: str) -> None:
    there, rules, expected = TABLE[case]
    assert going(there, rules=rules) == expected
    assert going(there[::-1], rules=rules) == expected


@pytest.mark.promise(11)
def test_what_is_needed_stays_whatever_the_rules() -> None:
    there = [old(str(number), number * DAYS) for number in range(50)]
    for rules in (Rules(), Rules(most=1), Rules(oldest=DAYS), Rules(most=0, oldest=timedelta(0))):
        assert not going(there, {"30", "31", "49"}, rules) & {"0", "30", "31", "49"}


def test_thinning_out_again_changes_nothing() -> None:
    there = [old(str(number), number * HOURS) for number in range(24 * 30)]
    gone = going(there)
    left = [found for found in there if found.id not in gone]
    assert 24 + 6 * 24 + 20 < len(left) < 24 + 6 * 24 + 30
    assert going(left) == set()


def way(before: str, target: str) -> Restore:
    return Restore(id="res-1", time=NOON, before=before, target=target)


@pytest.mark.promise(11)
def test_what_undo_redo_and_an_unfinished_restore_go_to_or_come_from_is_needed() -> None:
    ledger = Run(id="ledger-1", undoable=[way("a", "b"), way("c", "d")], redoable=[way("e", "f")])
    assert still_needed(ledger) == set("abcdef")
    ledger.unfinished = way("g", "h")
    assert still_needed(ledger) == set("abcdefgh")
    assert still_needed(Run(id="ledger-2")) == set()
    assert still_needed(None) == set()


@pytest.mark.promise(11)
def test_there_are_forty_states() -> None:
    assert len(TABLE) >= 40
