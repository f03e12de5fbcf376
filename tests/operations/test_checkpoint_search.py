"""Checkpoints as lists describe them, and found by an age, a prompt or words."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest

import holdfast
from holdfast.core.errors import Ambiguous, NotFound, WrongUsage
from holdfast.core.model import Checkpoint
from holdfast.project.checkpoints.describe import parse_age
from holdfast.project.workspace import Workspace
from holdfast.system import files
from tests.conftest import TickingClock
from tests.tools import Command
from tests.turns import three_turns, turn
from tests.worktrees import put, take


@pytest.fixture
def made(project: Workspace) -> list[Checkpoint]:
    return three_turns(project)


def to(project: Workspace, name: str) -> str:
    return holdfast.restore(project, name, dry_run=True).to


# What a list shows.


def test_a_list_says_which_prompt_a_checkpoint_belongs_to_and_how_many_lines_it_changed(
    project: Workspace, made: list[Checkpoint]
) -> None:
    listed = holdfast.checkpoints(project).checkpoints[::-1]
    assert [(one.prompt, one.precedes, one.added, one.removed) for one in listed] == [
        ("Add retries to the client", True, None, None),
        ("Add retries to the client", False, 2, 0),
        ("Do the refactoring into classes", True, 1, 2),
        ("Do the refactoring into classes", False, 1, 0),
    ]
    assert [one.id for one in listed] == [one.id for one in made]


def test_without_a_prompt_a_list_names_the_last_action(project: Workspace) -> None:
    holdfast.start(project, "Work by hand")
    holdfast.action(project, "Ran the migration")
    take(project)
    assert [one.prompt for one in holdfast.checkpoints(project).checkpoints] == ["Ran the migration"]


def test_a_forgotten_prompt_is_not_shown(project: Workspace, made: list[Checkpoint]) -> None:
    events = holdfast.log(project).events
    prompt = [event.seq for event in events if event.kind == "prompt.given"][-1]
    holdfast.forget(project, str(prompt))
    assert holdfast.checkpoints(project).checkpoints[0].prompt == "Explain the cart"
    with pytest.raises(NotFound, match="has no prompt 3"):
        to(project, "@prompt:3")


def test_lines_are_not_counted_where_very_many_files_changed(
    project: Workspace, made: list[Checkpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.project.checkpoints.line_counts.FILES_COUNTED", 1)
    assert [one.added for one in holdfast.checkpoints(project).checkpoints] == [1, None, None, None]


def test_a_list_does_not_wait_for_a_checkpoint_that_is_being_made(project: Workspace, made: list[Checkpoint]) -> None:
    directory = project.here / "worktrees" / "main"
    (lock,) = [*directory.parent.glob("*/lock")]
    begun = time.monotonic()
    with files.lock(lock, 0.0):
        assert [one.added for one in holdfast.checkpoints(project).checkpoints] == [None] * 4
    assert time.monotonic() - begun < 30


def test_safety_checkpoints_are_hidden_unless_they_are_asked_for(project: Workspace, made: list[Checkpoint]) -> None:
    holdfast.restore(project, made[1].id)
    ids = {one.id for one in made}
    assert {one.id for one in holdfast.checkpoints(project).checkpoints} == ids
    for shown in (holdfast.checkpoints(project, safety=True), holdfast.checkpoints(project, every=True)):
        assert [one.kind for one in shown.checkpoints if one.id not in ids] == ["before-restore"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("exponential backoff", [1]),  # the answer
        ("RETRIES client", [1, 0]),
        ("c.txt", [3]),
        ("of the refactoring", [3, 2]),
        ("nothing has this", []),
    ],
)
def test_a_search_looks_at_prompts_answers_and_names_of_files(
    project: Workspace, made: list[Checkpoint], text: str, found: list[int]
) -> None:
    listed = holdfast.checkpoints(project, search=text).checkpoints
    assert [one.id for one in listed] == [made[number].id for number in found]


def test_a_list_can_be_limited_to_a_time(project: Workspace, made: list[Checkpoint]) -> None:
    assert [one.id for one in holdfast.checkpoints(project, since=made[2].time).checkpoints] == [made[3].id, made[2].id]
    assert [one.id for one in holdfast.checkpoints(project, until=made[1].time).checkpoints] == [made[0].id]


def test_several_runs_have_a_column_of_their_own(project: Workspace, made: list[Checkpoint]) -> None:
    one_run = Command.run("checkpoints", directory=project.root).ok()
    assert one_run.out.split()[:5] == ["#", "checkpoint", "made", "changed", "what"]
    assert f"Of {made[0].run}: Build a shop" in one_run.err
    other = holdfast.start(project, "Another").run
    put(project.root, {"d.txt": "x"})
    take(project)
    several = Command.run("checkpoints", directory=project.root).ok().out
    assert several.split()[:5] == ["#", "checkpoint", "made", "run", "changed"]
    assert other.id in several


# Which checkpoint a name means.


@pytest.mark.parametrize(("name", "found"), [("@prompt:1", 0), ("@prompt:2", 1), ("@prompt:3", 2)])
def test_a_prompt_means_the_worktree_when_it_was_given(
    project: Workspace, made: list[Checkpoint], name: str, found: int
) -> None:
    assert to(project, name) == made[found].id


def test_a_prompt_that_no_checkpoint_precedes_is_refused(project: Workspace) -> None:
    holdfast.start(project, "Build a shop")
    holdfast.prompt(project, "Begin")
    holdfast.action(project, "Edited a.txt")
    put(project.root, {"a.txt": "one\n"})
    take(project)
    with pytest.raises(NotFound, match="no checkpoint of when prompt 1 was given"):
        to(project, "@prompt:1")
    with pytest.raises(NotFound, match="has no prompt 2"):
        to(project, "@prompt:2")
    with pytest.raises(WrongUsage):
        to(project, "@prompt:first")


def test_an_age_means_the_newest_checkpoint_that_is_at_least_so_old(project: Workspace, clock: TickingClock) -> None:
    put(project.root, {"a.txt": "one\n"})
    old = take(project)
    clock.time += timedelta(minutes=20)
    put(project.root, {"a.txt": "two\n"})
    take(project)
    assert [to(project, name) for name in ("10m", "10 minutes ago", "1200s")] == [old.id] * 3
    with pytest.raises(NotFound) as nothing:
        to(project, "2h")
    assert nothing.value.code == 10


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600), ("2h", 7_200), ("3 days ago", 259_200), ("1w", 604_800), ("m", None), ("10", None), ("10x", None)],
)
def test_ages_are_recognised(text: str, seconds: int | None) -> None:
    assert parse_age(text) == (timedelta(seconds=seconds) if seconds else None)


def test_words_mean_the_only_checkpoint_that_has_them(project: Workspace, made: list[Checkpoint]) -> None:
    assert to(project, "exponential backoff") == made[1].id


def test_before_something_means_when_its_prompt_was_given(project: Workspace, made: list[Checkpoint]) -> None:
    assert to(project, "before the refactoring") == made[2].id
    named = take(project, "before-our-refactoring")
    assert to(project, "before the refactoring") == named.id


def test_words_that_several_have_are_listed(project: Workspace, made: list[Checkpoint]) -> None:
    done = Command.run("restore", "refactoring", directory=project.root)
    assert (done.code, Ambiguous.code) == (1, 1)
    assert re.findall(r"cp-\w+", done.err) == [made[3].id, made[2].id]
    assert "before: Do the refactoring" in done.err
    assert Command.run("restore", "no such words", directory=project.root).code == 10


def test_ids_names_and_rows_come_before_ages_and_words(project: Workspace, made: list[Checkpoint]) -> None:
    named = take(project, "10m")
    assert to(project, "10m") == named.id
    cart = take(project, "cart")
    assert to(project, "cart") == cart.id
    holdfast.checkpoints(project)
    assert to(project, "2") == named.id


def test_the_same_words_work_for_show_and_diff(project: Workspace, made: list[Checkpoint]) -> None:
    def run(*words: str) -> str:
        return Command.run(*words, directory=project.root).ok().out

    assert made[1].id in run("show", "exponential backoff")
    assert made[2].id in run("show", "@prompt:3")
    assert "-two" in run("diff", "exponential backoff", "@prompt:3")
    assert run("diff", "@prompt:3", "--name-only") == "c.txt\n"


def test_a_search_deletes_nothing_unless_a_person_confirms(project: Workspace, made: list[Checkpoint]) -> None:
    done = Command.run("checkpoints", "delete", "exponential backoff", "--yes", directory=project.root)
    assert done.code == 10
    assert len(holdfast.checkpoints(project).checkpoints) == 4
    assert (
        Command.run("checkpoints", "delete", "@prompt:1", "--yes", directory=project.root).ok().out.strip()
        == made[0].id
    )


# What belongs to an event.


def test_log_and_show_name_the_checkpoint_after_an_event(project: Workspace, made: list[Checkpoint]) -> None:
    logged = holdfast.log(project)
    answers = [event.seq for event in logged.events if event.kind == "turn.ended"]
    assert logged.checkpoints[answers[0]] == made[1].id
    assert logged.checkpoints[answers[2]] == made[3].id
    assert set(logged.checkpoints.values()) == {one.id for one in made}
    lines = Command.run("log", directory=project.root).ok().out.splitlines()
    assert [line for line in lines if line.endswith(made[1].id)] == [line for line in lines if "said: Retries" in line]


def test_search_names_the_checkpoint_that_holds_the_event(project: Workspace, made: list[Checkpoint]) -> None:
    found = holdfast.search(project, "refactoring").found
    assert [one.checkpoint for one in found] == [made[3].id]
    assert made[3].id in Command.run("search", "refactoring", directory=project.root).ok().out
    turn(project, "Now the docs")
    assert holdfast.search(project, "docs").found[0].checkpoint is None


# Comparing.


def test_diff_alone_means_since_the_last_checkpoint(project: Workspace, made: list[Checkpoint]) -> None:
    put(project.root, {"a.txt": "mine\nand more\n", "new.txt": "x\n"})
    found = holdfast.diff(project)
    assert (found.a, found.b) == (made[-1].id, None)
    assert [(file.path, file.added, file.removed) for file in found.files] == [("a.txt", 1, 0), ("new.txt", 1, 0)]
    holdfast.restore(project, made[-1].id)
    assert holdfast.diff(project).a == made[-1].id, "the safety checkpoint is none of the person's"
    assert holdfast.diff(project).code == ""


def test_code_comes_first_and_the_state_only_on_demand(project: Workspace, made: list[Checkpoint]) -> None:
    out = Command.run("diff", made[2].id, directory=project.root).ok()
    assert out.out.splitlines()[:4] == [
        " c.txt | 1 +",
        " 1 file changed, 1 added and 0 removed lines",
        "",
        "diff --git a/c.txt b/c.txt",
    ]
    assert "run:" not in out.out + out.err
    assert "run: said: Cart is a class" in Command.run("diff", made[2].id, "--state", directory=project.root).ok().out
    stat = Command.run("diff", made[2].id, "--stat", directory=project.root).ok().out
    assert "diff --git" not in stat
    assert " c.txt | 1 +" in stat


def test_the_name_of_a_file_alone_means_since_the_last_checkpoint(project: Workspace, made: list[Checkpoint]) -> None:
    put(project.root, {"a.txt": "changed\n", "b.txt": "changed\n"})
    assert Command.run("diff", "a.txt", "--name-only", directory=project.root).ok().out == "a.txt\n"


def test_renamed_and_binary_files_have_their_place_in_the_diffstat(project: Workspace) -> None:
    put(project.root, {"old.txt": "a\nb\nc\nd\n", "picture": b"\0\1\2"})
    take(project)
    (project.root / "old.txt").rename(project.root / "new.txt")
    put(project.root, {"picture": b"\0\3"})
    found = {file.path: file for file in holdfast.diff(project).files}
    assert found["new.txt"].before == "old.txt"
    assert found["picture"].added is None
    out = Command.run("diff", "--stat", directory=project.root).ok().out
    assert "old.txt => new.txt" in out
    assert "Bin" in out


def test_the_diff_applies_with_git_below_its_diffstat(project: Workspace, made: list[Checkpoint]) -> None:
    from tests.worktrees import git

    text = Command.run("diff", made[2].id, "--state", directory=project.root).ok().out
    (project.root.parent / "patch").write_text(text)
    (project.root / "c.txt").unlink()
    git(project.root, "apply", str(project.root.parent / "patch"))
    assert (project.root / "c.txt").read_text() == "class\n"
