"""A command that guards the work, and a command that finds where it broke."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import Checkpoint
from holdfast.project.workspace import Workspace
from tests.sessions import a_process, as_session
from tests.tools import Command
from tests.worktrees import commit, insides, picture, put, take

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


@pytest.mark.promise(9)
def test_bisecting_leaves_nothing_to_undo_and_what_could_be_undone_stays_so(good: Workspace) -> None:
    made = history(good, 4, 2)
    with pytest.raises(NotFound):
        bisected_and_undone(good)
    before = picture(good.root)
    holdfast.restore(good, made[0].id)
    bisected_and_undone(good)
    assert picture(good.root) == before
    bisected(good)
    holdfast.redo(good)
    assert (good.root / "a.txt").read_text() == "good 0\n"


def bisected(project: Workspace) -> None:
    holdfast.bisect(project, SAYS_GOOD)


def bisected_and_undone(project: Workspace) -> None:
    bisected(project)
    holdfast.undo(project)


def test_checkpoints_that_a_way_back_made_are_not_searched(good: Workspace) -> None:
    made = history(good, 3, 2)
    put(good.root, {"a.txt": "bad, and only seen by a restore\n"})
    holdfast.restore(good, made[0].id)
    put(good.root, {"a.txt": "bad\n"})
    last = take(good)
    found = holdfast.bisect(good, SAYS_GOOD, good=made[0].id)
    assert found.first_bad.id == made[2].id
    kinds = {checkpoint.id: checkpoint.kind for checkpoint in holdfast.checkpoints(good, safety=True).checkpoints}
    assert found.tried <= 4
    assert last.id in kinds
    assert set(kinds.values()) == {"asked", "before-restore", "before-bisect"}


def test_a_checkpoint_that_a_way_back_made_is_searched_where_it_is_named(good: Workspace) -> None:
    made = history(good, 2, 2)
    put(good.root, {"a.txt": "bad\n"})
    before = holdfast.restore(good, made[0].id).restore
    assert before is not None
    assert holdfast.bisect(good, SAYS_GOOD, bad=before.before).first_bad.id == before.before


@pytest.mark.promise(9)
@pytest.mark.parametrize("option", ["--continue", "--undo"])
def test_a_bisect_that_is_killed_is_told_of_and_can_be_taken_back(good: Workspace, option: str) -> None:
    history(good, 5, 3)
    put(good.root, {"never kept": "x", "a.txt": "bad and more\n"})
    before = picture(good.root)
    script = "test -e f3 -a ! -e f4 && kill -9 $PPID; grep -q good a.txt"
    assert Command.run("bisect", "--", "sh", "-c", script, directory=good.root).code == -9
    assert picture(good.root) != before
    assert "restore --continue" in Command.run("status", directory=good.root).ok().out
    with pytest.raises(holdfast.Refused, match="interrupted"):
        holdfast.bisect(good, SAYS_GOOD)
    Command.run("restore", option, directory=good.root).ok()
    assert picture(good.root) == before
    with pytest.raises(NotFound):
        holdfast.undo(good)


@pytest.mark.promise(9)
def test_what_somebody_writes_while_we_bisect_is_in_a_checkpoint(good: Workspace) -> None:
    history(good, 4, 2)
    holdfast.bisect(good, ("sh", "-c", "echo precious > made; grep -q good a.txt"))
    assert not (good.root / "made").exists()
    kept = [found for found in holdfast.checkpoints(good, safety=True).checkpoints if "made" in found.changed]
    assert kept
    holdfast.restore(good, kept[0].id, ("made",))
    assert (good.root / "made").read_text() == "precious\n"


def test_ends_that_are_the_wrong_way_round_are_said_with_what_to_do(good: Workspace) -> None:
    made = history(good, 4, 2)
    with pytest.raises(NotFound, match="a good one before a bad one"):
        holdfast.bisect(good, SAYS_GOOD, good=made[3].id, bad=made[0].id)
    with pytest.raises(NotFound) as refused:
        holdfast.bisect(good, ("true",))
    assert any("--bad" in hint for hint in refused.value.hints)
    with pytest.raises(NotFound) as refused:
        holdfast.bisect(good, ("false",))
    assert any("--good" in hint for hint in refused.value.hints)


SPEAKS = ("sh", "-c", "echo out; echo err >&2; grep -q good a.txt")


def test_standard_output_of_guard_is_the_commands_own(good: Workspace) -> None:
    done = Command.run("guard", "--", *SPEAKS, directory=good.root).ok()
    assert done.out == "out\n"
    assert holdfast.checkpoints(good, safety=True).checkpoints[0].id in done.err
    put(good.root, {"a.txt": "bad\n"})
    done = Command.run("guard", "--", *SPEAKS, directory=good.root)
    assert (done.code, done.out) == (1, "out\n")


def test_with_json_what_the_command_prints_is_kept_off_standard_output(good: Workspace) -> None:
    done = Command.run("guard", "--json", "--", *SPEAKS, directory=good.root).ok()
    assert done.json["passed"]["kind"] == "passed"
    assert "out" in done.err.split()
    history(good, 2, 1)
    done = Command.run("bisect", "--json", "--", *SPEAKS, directory=good.root).ok()
    assert done.json["first_bad"]["name"] == "number 1"
    assert "out" in done.err.split()


def test_bisect_prints_the_id_alone(good: Workspace) -> None:
    made = history(good, 2, 1)
    done = Command.run("bisect", "--", *SPEAKS, directory=good.root).ok()
    assert done.out == made[1].id + "\n"


# A second checkpoint, or a path.


def test_the_second_checkpoint_of_diff_may_be_named_in_every_way(good: Workspace) -> None:
    first, second = history(good, 2, 1)
    put(good.root, {"a.txt": "since then\n"})
    run = Command.run
    run("checkpoints", directory=good.root).ok()
    for name in (second.id, second.id[:-2], "number 1"):
        said = run("diff", first.id, name, "a.txt", directory=good.root).ok().out
        assert "-good 0" in said
        assert "+bad 1" in said
    assert "+since then" in run("diff", "number 0", "a.txt", directory=good.root).ok().out
    assert run("diff", "number 0", "nothing", directory=good.root).code == 10


def test_what_is_both_a_checkpoint_and_a_path_is_asked_about(good: Workspace) -> None:
    take(good, "b.txt")
    put(good.root, {"b.txt": "changed\n"})
    second = take(good, "later")
    put(good.root, {"b.txt": "once more\n"})
    done = Command.run("diff", "later", "b.txt", directory=good.root)
    assert done.code == 1
    assert "both a checkpoint and a path" in done.err
    assert "diff A -- PATH" in done.err
    said = Command.run("diff", "later", "--", "b.txt", directory=good.root).ok().out
    assert ("-changed" in said, "+once more" in said) == (True, True)
    assert "+once more" in Command.run("diff", "later", "./b.txt", directory=good.root).ok().out
    assert Command.run("diff", "later", second.id, "--", "b.txt", directory=good.root).ok().out == ""


def test_a_given_name_goes_before_a_part_of_some_id(good: Workspace) -> None:
    first = take(good)
    end = first.id.removeprefix("cp-")
    named = take(good, end)
    put(good.root, {"a.txt": "x"})
    assert holdfast.restore(good, end, dry_run=True).to == named.id


def test_the_command_is_run_in_the_worktrees_own_directory(good: Workspace) -> None:
    (good.root / "sub").mkdir()
    done = Command.run("guard", "--", "sh", "-c", "pwd > where", directory=good.root / "sub")
    assert done.code == 0
    assert Path((good.root / "where").read_text().strip()) == Path(os.path.realpath(good.root))


def test_a_command_with_a_nul_in_it_is_none(project: Workspace) -> None:
    with pytest.raises(NotFound, match="no such command"):
        holdfast.guard(project, ("\0",))
