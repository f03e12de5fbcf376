"""How checkpoints are listed, named and found, here and in other worktrees of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.tools import Command
from tests.worktrees import commit, git, put, take


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n", "b.txt": "two\n"})
    commit(project.root)
    return project


def say(held: Workspace, *arguments: str) -> Command:
    return Command.run(*arguments, directory=held.root)


# Lists.


def test_what_touched_a_path_is_found_among_any_number_of_changes(held: Workspace) -> None:
    """A checkpoint's record names only the first changes; the answer comes from the trees."""
    for number in range(250):
        put(held.root, {f"many/{number:03}": "x", "z/last": "one"})
    first = take(held)
    take(held)
    for number in range(250):
        put(held.root, {f"many/{number:03}": "y", "z/last": "two"})
    second = take(held)
    for path in ("z/last", "z", "many/249"):
        listed = holdfast.checkpoints(held, touching=path).checkpoints
        assert [made.id for made in listed] == [second.id, first.id]
    assert holdfast.checkpoints(held, touching="nowhere").checkpoints == []


def test_a_list_says_when_there_is_more_than_it_shows(held: Workspace) -> None:
    for number in range(3):
        put(held.root, {"a.txt": f"{number}"})
        take(held)
    assert "There are more" in say(held, "checkpoints", "--limit", "2").ok().err
    assert say(held, "checkpoints", "--limit", "3").ok().err == ""
    assert [holdfast.checkpoints(held, limit=limit).more for limit in (1, 2, 3, 4)] == [True, True, False, False]


def test_a_path_that_no_checkpoint_touched_is_said_to_be_one(held: Workspace) -> None:
    take(held)
    done = say(held, "checkpoints", "--touching", "nope").ok()
    assert (done.out, done.err) == ("", "None of the checkpoints touched nope\n")


def test_only_those_that_were_asked_for_are_listed_on_demand(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x"})
    holdfast.restore(held, made.id)
    assert [found.id for found in holdfast.checkpoints(held, asked=True).checkpoints] == [made.id]
    assert made.id in say(held, "checkpoints", "--asked").ok().out
    assert "before-restore" not in say(held, "checkpoints", "--asked").ok().out


def test_without_a_store_the_first_checkpoint_is_the_hint(repository: Path) -> None:
    done = Command.run("checkpoints", directory=repository)
    assert done.code == NotFound.code
    assert "`holdfast checkpoint`" in done.err
    assert not (repository / ".git/holdfast").exists()


# Other worktrees.


def test_checkpoints_of_all_worktrees_are_listed_with_the_worktrees_name(
    held: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    here = take(held)
    with a_worktree(held, tmp_path / "linked", clock) as linked:
        there = take(linked, "there")
    git(held.root, "worktree", "remove", "--force", str(tmp_path / "linked"))
    assert [found.id for found in holdfast.checkpoints(held).checkpoints] == [here.id]
    assert [found.id for found in holdfast.checkpoints(held, every=True).checkpoints] == [there.id, here.id]
    head, first, second = say(held, "checkpoints", "--all").ok().out.splitlines()
    assert head.split()[:3] == ["#", "checkpoint", "worktree"]
    assert first.split()[:3] == ["1", there.id, "linked"]
    assert second.split()[:3] == ["2", here.id, "."]


def test_a_name_of_another_worktree_is_found_and_not_restored_without_force(
    held: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(held, tmp_path / "linked", clock) as linked:
        put(linked.root, {"a.txt": "there"})
        take(linked, "theirs")
        take(linked, "both")
    ours = take(held, "both")
    assert holdfast.restore(held, "both", dry_run=True).to == ours.id
    with pytest.raises(Refused, match="another worktree") as refused:
        holdfast.restore(held, "theirs")
    assert any(f"cd {tmp_path / 'linked'}" in hint for hint in refused.value.hints)
    git(held.root, "worktree", "remove", "--force", str(tmp_path / "linked"))
    with pytest.raises(Refused, match="another worktree") as refused:
        holdfast.restore(held, "theirs")
    assert not any("cd " in hint for hint in refused.value.hints)
    assert "theirs" in say(held, "show", "theirs").ok().out
    holdfast.restore(held, "theirs", force=True)
    assert (held.root / "a.txt").read_text() == "there"


def test_a_path_here_is_not_taken_for_a_checkpoint_of_another_worktree(
    held: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(held, tmp_path / "linked", clock) as linked:
        take(linked, "b.txt")
    made = take(held)
    put(held.root, {"b.txt": "changed\n"})
    assert "+changed" in say(held, "diff", made.id, "b.txt").ok().out


def test_the_help_of_force_names_both_refusals(held: Workspace) -> None:
    text = " ".join(say(held, "restore", "--help").ok().out.split())
    assert "another living session changed, or from another worktree" in text


# Names.


@pytest.mark.parametrize("name", ["cp-mine", "run-mine", "ses-mine", "12", "-x", "a\x1b[2Jb", "a\nb", "a\u202eb"])
def test_a_name_that_would_be_read_as_something_else_is_refused(held: Workspace, name: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        holdfast.checkpoint(held, name)
    assert refused.value.hints
    assert holdfast.checkpoints(held).checkpoints == []


def test_what_is_known_by_no_name_is_called_neither_run_nor_session_nor_checkpoint(held: Workspace) -> None:
    done = say(held, "show", "nope")
    assert done.code == NotFound.code
    assert 'There is no run, session or checkpoint "nope"' in done.err


# What is said.


def test_the_first_checkpoint_says_how_many_files_it_kept(held: Workspace) -> None:
    put(held.root, {"new": "new"})
    assert say(held, "checkpoint").ok().err == "Kept 3 files: the first checkpoint of this worktree\n"
    put(held.root, {"new": "changed"})
    assert say(held, "checkpoint").ok().err == "Kept 1 changed file since the last checkpoint\n"


@pytest.mark.parametrize("verb", ["guard", "bisect"])
def test_a_verb_without_its_command_hints_at_itself(held: Workspace, verb: str) -> None:
    done = say(held, verb)
    assert done.code == WrongUsage.code
    assert f"`holdfast {verb} -- pytest`" in done.err


def test_bisect_names_the_first_bad_one_with_its_label(held: Workspace) -> None:
    take(held, "good")
    os.unlink(held.root / "b.txt")
    bad = take(held, "broken")
    done = say(held, "bisect", "--", "test", "-e", "b.txt").ok()
    assert f"First bad of 2 tried: {bad.id} (broken)\n" in done.err


def test_tidy_says_why_checkpoints_stay(held: Workspace) -> None:
    holdfast.start(held, "goal")
    named = take(held, "named")
    for number in range(4):
        put(held.root, {"a.txt": f"{number}"})
        made = take(held)
        if number == 0:
            holdfast.pin(held, made.id)
    holdfast.restore(held, named.id)
    found = holdfast.tidy(held, most=1, dry_run=True)
    assert found.because == {"named": 1, "pinned": 1, "needed by undo or redo": 1}
    said = say(held, "tidy", "--most", "1", "--dry-run").ok().err
    assert "Stay whatever the numbers say: " in said
    assert "1 pinned" in said


@pytest.mark.defect("`checkpoint list` made a checkpoint with the name `list`")
@pytest.mark.parametrize("name", ["list", "show", "diff", "delete", "validate", "export"])
def test_a_command_of_checkpoints_is_no_name_for_one(held: Workspace, name: str) -> None:
    done = say(held, "checkpoint", name)
    assert (done.code, done.out) == (WrongUsage.code, "")
    assert f"`holdfast checkpoints {name}`" in done.err
    assert holdfast.checkpoints(held).checkpoints == []


@pytest.mark.defect("After a list of 2 rows, `diff 3` said only that there is no checkpoint 3")
def test_a_number_beyond_the_last_list_is_answered_with_its_length(held: Workspace) -> None:
    holdfast.start(held, "goal")
    assert 'There is no checkpoint "3"' in say(held, "diff", "3").err
    take(held)
    say(held, "checkpoints").ok()
    assert "There is no checkpoint 2: the last list had 1 row\n" in say(held, "diff", "2").err
    put(held.root, {"a.txt": "x"})
    take(held)
    say(held, "checkpoints").ok()
    for command in (("diff", "3"), ("restore", "3"), ("rollback", "003", "--yes"), ("show", "3"), ("diff", "0")):
        done = say(held, *command)
        assert done.code == NotFound.code
        assert f"There is no checkpoint {int(command[1])}: the last list had 2 rows\n" in done.err
        assert "`holdfast checkpoints` lists them" in done.err


@pytest.mark.defect("After a list of 2 rows, `diff 1 3` said that the path 3 names nothing")
def test_second_number_of_diff_beyond_the_last_list_is_answered_with_its_length(held: Workspace) -> None:
    take(held)
    put(held.root, {"a.txt": "x", "7": "seven"})
    take(held)
    say(held, "checkpoints").ok()
    done = say(held, "diff", "1", "3")
    assert done.code == NotFound.code
    assert "There is no checkpoint 3: the last list had 2 rows\n" in done.err
    assert "`holdfast diff A -- PATH` means a path" in done.err
    assert "seven" in say(held, "diff", "2", "7").ok().out
    assert "This path is neither in the checkpoint nor in the worktree" in say(held, "diff", "1", "--", "3").err


def test_a_number_beyond_the_last_list_of_runs_and_sessions_is_answered_with_its_length(held: Workspace) -> None:
    run = holdfast.start(held, "goal").run.id
    say(held, "runs").ok()
    assert "There is no run 2: the last list had 1 row\n" in say(held, "switch", "2").err
    holdfast.join(held, run)
    say(held, "sessions").ok()
    assert "There is no session 2: the last list had 1 row\n" in say(held, "leave", "2").err
