"""What is forgotten, and what never is."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import NotFound
from holdfast.model import Checkpoint
from holdfast.retention import Rules, plan_retention
from holdfast.workspace import Workspace
from tests.conftest import TickingClock
from tests.operations.people import a_worktree
from tests.operations.trees import back, commit, git, insides, picture, put, take
from tests.tools import NOON

# Defects that are known, and the reason why their tests fail.
LAST_COPY = "tidy removes objects that the user's own commits and index need, which git never stored a second time"

MINUTES, HOURS, DAYS = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def old(id: str, age: timedelta, **changes: Any) -> Checkpoint:
    return Checkpoint(
        **{"id": id, "worktree": ".", "number": 1, "time": NOON - age, "tree": "", "beside": "", **changes}
    )


def going(checkpoints: list[Checkpoint], needed: set[str] | None = None, rules: Rules | None = None) -> set[str]:
    return {found.id for found in plan_retention(checkpoints, needed or set(), NOON, rules or Rules())}


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


def some(project: Workspace, count: int) -> list[Checkpoint]:
    made = []
    for number in range(count):
        put(project.root, {"a.txt": f"{number}\n", "data": f"{number}" * 1000})
        made.append(take(project))
    return made


@pytest.mark.promise(11)
def test_what_is_kept_can_still_be_gone_back_to_and_what_is_dropped_cannot(project: Workspace) -> None:
    made = some(project, 6)
    done = holdfast.tidy(project, most=2)
    assert (set(done.dropped), done.kept) == ({found.id for found in made[:4]}, 2)
    for number in (4, 5):
        back(project, made[number])
        assert (project.root / "a.txt").read_text() == f"{number}\n"
    with pytest.raises(NotFound):
        back(project, made[0])
    git(project.root, "fsck", "--full")


def test_a_dry_run_drops_nothing(project: Workspace) -> None:
    made = some(project, 4)
    before = insides(project.root)
    done = holdfast.tidy(project, most=1, dry_run=True)
    assert (len(done.dropped), done.kept, done.dry_run) == (3, 1, True)
    assert insides(project.root) == before
    back(project, made[0])


@pytest.mark.promise(9, 11)
def test_what_undo_and_redo_need_stays(project: Workspace) -> None:
    made = some(project, 4)
    put(project.root, {"a.txt": "never kept by hand\n"})
    before = picture(project.root)
    back(project, made[0])
    after = picture(project.root)
    some(project, 3)
    holdfast.tidy(project, most=1, days=0)
    holdfast.undo(project)
    assert picture(project.root) == before
    holdfast.tidy(project, most=1, days=0)
    holdfast.redo(project)
    assert (project.root / "a.txt").read_text() == "2\n"
    assert after != before


@pytest.mark.promise(11)
def test_named_ones_and_the_last_of_an_open_run_stay(project: Workspace) -> None:
    put(project.root, {"a.txt": "named\n"})
    named = take(project, "release")
    holdfast.start(project, "goal")
    of_run = some(project, 2)
    holdfast.start(project, "another")
    some(project, 2)
    dropped = holdfast.tidy(project, most=1, days=0).dropped
    assert named.id not in dropped
    assert of_run[1].id not in dropped
    assert of_run[0].id in dropped
    back(project, named)
    assert (project.root / "a.txt").read_text() == "named\n"


@pytest.mark.promise(11)
def test_tidying_one_worktree_leaves_the_checkpoints_of_another(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        theirs = some(linked, 3)
        some(project, 3)
        holdfast.tidy(project, most=1)
        for number, made in enumerate(theirs):
            back(linked, made)
            assert (linked.root / "a.txt").read_text() == f"{number}\n"


@pytest.mark.promise(10, 11)
@pytest.mark.xfail(strict=True, reason=LAST_COPY)
def test_an_object_that_the_user_needs_too_is_never_taken_away(project: Workspace) -> None:
    """What a checkpoint has stored, git does not store again: the user's commit then lives on our copy alone."""
    put(project.root, {"precious": "the only copy\n", "dir/deep": "another\n"})
    take(project)
    commit(project.root)
    git(project.root, "stash", "list")
    put(project.root, {"staged": "staged after a checkpoint\n"})
    take(project)
    git(project.root, "add", "staged")
    put(project.root, {"precious": "changed\n", "dir/deep": "changed\n", "staged": "changed\n"})
    take(project)
    holdfast.tidy(project, most=1)
    git(project.root, "fsck", "--full")
    assert git(project.root, "show", "HEAD:precious") == "the only copy"
    assert git(project.root, "show", ":staged") == "staged after a checkpoint"


def test_dropped_checkpoints_give_their_space_back(project: Workspace) -> None:
    for number in range(5):
        put(project.root, {"noise": os.urandom(200_000), "number": f"{number}"})
        take(project)
    before = size_of(project.root)
    holdfast.tidy(project, most=1)
    assert size_of(project.root) < before - 700_000


def size_of(root: Path) -> int:
    return sum(path.stat().st_size for path in (root / ".git/objects").rglob("*") if path.is_file())


def test_numbers_are_not_used_again_after_tidying(project: Workspace) -> None:
    last = some(project, 4)[-1]
    holdfast.tidy(project, most=1)
    assert take(project).number == last.number + 1
