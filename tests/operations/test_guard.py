"""A command that guards the work, and a command that finds where it broke."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import NotFound, WrongUsage
from holdfast.model import Checkpoint
from holdfast.workspace import Workspace
from tests.operations.people import a_process, as_session
from tests.operations.trees import commit, insides, picture, put, take
from tests.tools import Command

SAYS_GOOD = ("grep", "-q", "good", "a.txt")


@pytest.fixture
def good(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "good\n", "b.txt": "b\n"})
    commit(project.root)
    return project


def test_where_the_command_passes_that_state_is_kept(good: Workspace) -> None:
    found = holdfast.guard(good, SAYS_GOOD)
    assert (found.code, found.restored) == (0, None)
    assert found.passed is not None
    assert (found.passed.kind, found.passed.message) == ("passed", "grep -q good a.txt")


def test_where_it_fails_the_last_state_that_passed_is_named_and_nothing_is_touched(good: Workspace) -> None:
    passed = holdfast.guard(good, SAYS_GOOD).passed
    put(good.root, {"a.txt": "bad\n"})
    found = holdfast.guard(good, SAYS_GOOD)
    assert (found.code, found.passed, found.restored) == (1, passed, None)
    assert (good.root / "a.txt").read_text() == "bad\n"


@pytest.mark.promise(9)
def test_with_auto_it_goes_back_and_undo_takes_that_back(good: Workspace) -> None:
    passed = holdfast.guard(good, SAYS_GOOD).passed
    assert passed is not None
    kept = picture(good.root)
    put(good.root, {"a.txt": "bad\n", "new": "new"})
    broken = picture(good.root)
    found = holdfast.guard(good, SAYS_GOOD, auto=True)
    assert found.restored is not None
    assert found.restored.to == passed.id
    assert picture(good.root) == kept
    holdfast.undo(good)
    assert picture(good.root) == broken


def test_only_a_state_at_which_the_very_command_passed_counts(good: Workspace) -> None:
    holdfast.guard(good, ("true",))
    put(good.root, {"a.txt": "bad\n"})
    found = holdfast.guard(good, SAYS_GOOD, auto=True)
    assert (found.passed, found.restored) == (None, None)
    assert (good.root / "a.txt").read_text() == "bad\n"


def test_with_auto_the_work_of_another_living_session_is_not_overwritten(good: Workspace) -> None:
    holdfast.guard(good, SAYS_GOOD)
    with a_process() as child:
        theirs = holdfast.start(good, "theirs", pid=child.pid)
        assert theirs.session is not None
        holdfast.action(as_session(good, theirs.session.id), "edited", files=["a.txt"])
        put(good.root, {"a.txt": "theirs\n"})
        with pytest.raises(holdfast.Busy):
            holdfast.guard(good, SAYS_GOOD, auto=True)
        assert (good.root / "a.txt").read_text() == "theirs\n"


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("exit 0", 0)])
def test_the_command_exits_as_what_it_ran(good: Workspace, script: str, code: int) -> None:
    assert Command.run("guard", "--", "sh", "-c", script, directory=good.root).code == code


def test_what_cannot_be_run_is_said(good: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.guard(good, ("there-is-no-such-command",))
    with pytest.raises(WrongUsage):
        holdfast.guard(good, ())
    with pytest.raises(WrongUsage):
        holdfast.bisect(good, ())


def history(project: Workspace, count: int, bad: int) -> list[Checkpoint]:
    """Checkpoints of which all from number `bad` on are bad."""
    made = []
    for number in range(count):
        put(project.root, {"a.txt": f"{'good' if number < bad else 'bad'} {number}\n", f"f{number}": "x"})
        made.append(take(project, f"number {number}"))
    return made


@pytest.mark.promise(9, 10)
@pytest.mark.parametrize(("count", "bad"), [(2, 1), (8, 1), (8, 4), (8, 7)])
def test_the_first_bad_checkpoint_is_found_and_all_is_put_back(good: Workspace, count: int, bad: int) -> None:
    made = history(good, count, bad)
    put(good.root, {"never kept": "x", "a.txt": "bad and more\n"})
    before, repository = picture(good.root), insides(good.root)
    found = holdfast.bisect(good, SAYS_GOOD)
    assert (found.first_bad.id, found.last_good.id) == (made[bad].id, made[bad - 1].id)
    assert found.tried <= 2 + (count - 1).bit_length()
    assert picture(good.root) == before
    assert insides(good.root) == repository


def test_bisecting_looks_between_the_two_that_are_named(good: Workspace) -> None:
    made = history(good, 8, 4)
    put(good.root, {"a.txt": "good again\n"})
    take(good)
    found = holdfast.bisect(good, SAYS_GOOD, good=made[2].id, bad="number 6")
    assert found.first_bad.id == made[4].id


def test_a_command_that_never_fails_or_never_passes_has_no_first_bad_checkpoint(good: Workspace) -> None:
    history(good, 4, 2)
    before = picture(good.root)
    for command in (("true",), ("false",)):
        with pytest.raises(NotFound):
            holdfast.bisect(good, command)
        assert picture(good.root) == before


def test_fewer_than_two_checkpoints_cannot_be_bisected(good: Workspace) -> None:
    take(good)
    with pytest.raises(NotFound):
        holdfast.bisect(good, SAYS_GOOD)


@pytest.mark.promise(9)
def test_what_the_command_itself_writes_is_gone_after_bisecting_and_all_else_is_there(good: Workspace) -> None:
    history(good, 4, 2)
    put(good.root, {"mine": "never kept"})
    before = picture(good.root)
    holdfast.bisect(good, ("sh", "-c", "echo x > made; rm -f b.txt; grep -q good a.txt"))
    assert picture(good.root) == before


def test_the_command_is_run_in_the_worktrees_own_directory(good: Workspace) -> None:
    (good.root / "sub").mkdir()
    done = Command.run("guard", "--", "sh", "-c", "pwd > where", directory=good.root / "sub")
    assert done.code == 0
    assert Path((good.root / "where").read_text().strip()) == Path(os.path.realpath(good.root))
