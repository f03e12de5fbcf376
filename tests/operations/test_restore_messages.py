"""What is said on the ways back: what is undone, what an interruption leaves, what is not brought back."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.errors import Busy, Interrupted, NotFound, Refused, WrongUsage
from holdfast.core.model import Draft, Restore
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_process, as_session, run_of
from tests.tools import Command
from tests.worktrees import commit, git, picture, put, take

pytestmark = pytest.mark.promise(9)


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n", "dir/b.txt": "two\n"})
    commit(project.root)
    return project


def say(held: Workspace, *arguments: str) -> Command:
    return Command.run(*arguments, directory=held.root)


def kinds(held: Workspace) -> list[str]:
    return [made.kind for made in holdfast.checkpoints(held).checkpoints]


def leave_unfinished(held: Workspace, verb: str = "restore") -> Restore:
    """What a kill leaves: a restore that began."""
    target = take(held)
    put(held.root, {"a.txt": "changed"})
    restore = Restore(ids.make("res"), held.clock.now(), take(held).id, target.id, verb=verb)
    with held.writing() as journal:
        journal.append(journal.ledger(held.worktree).id, Draft("restore.began", {"restore": restore}))
    return restore


# What can be taken back, and what it is.


@pytest.mark.parametrize(("verb", "option"), [("restore", "--undo"), ("bisect", "--undo"), ("bisect", "--continue")])
def test_what_was_taken_back_promises_no_undo(held: Workspace, verb: str, option: str) -> None:
    leave_unfinished(held, verb)
    done = say(held, "restore", option).ok()
    assert "All is as it was before it began" in done.err
    assert "holdfast undo" not in done.err
    assert say(held, "undo").code == NotFound.code


def test_a_restore_that_is_continued_can_be_undone_and_says_so(held: Workspace) -> None:
    leave_unfinished(held)
    assert "`holdfast undo` takes it back" in say(held, "restore", "--continue").ok().err
    holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "changed"


def test_undo_says_which_restore_it_takes_back(held: Workspace) -> None:
    take(held, "one")
    put(held.root, {"a.txt": "x"})
    first = holdfast.restore(held, "one").restore
    leave_unfinished(held)
    say(held, "restore", "--undo").ok()
    assert first is not None
    done = say(held, "undo").ok()
    assert f"Undoing: restore to one of {first.time.astimezone():%Y-%m-%d %H:%M}" in done.err
    assert "Redoing what was undone" in say(held, "redo").ok().err
    undone = say(held, "undo", "--json").ok().json
    assert (undone["undone"]["verb"], undone["taken_back_by"], undone["given_up"]) == ("redo", "redo", False)


def test_what_was_done_since_the_restore_is_kept_before_it_is_undone(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x"})
    holdfast.restore(held, made.id)
    put(held.root, {"a.txt": "worked on since"})
    before = holdfast.undo(held).restore
    assert before is not None
    assert (held.root / "a.txt").read_text() == "x"
    holdfast.restore(held, before.before)
    assert (held.root / "a.txt").read_text() == "worked on since"


# What broke off.


def test_a_killed_bisect_is_called_one_and_its_ways_out_are_true(held: Workspace) -> None:
    leave_unfinished(held, "bisect")
    for command in (("status",), ("checkpoints",), ("checkpoint",)):
        done = say(held, *command).ok()
        assert "A bisect was interrupted" in done.out + done.err
        assert "both lead back to where it began" in done.out + done.err
    with pytest.raises(Refused, match="A bisect was interrupted") as refused:
        holdfast.undo(held)
    assert "both lead back to where it began" in refused.value.hints[0]


class StoppingClock(TickingClock):
    """Somebody presses Ctrl-C once a restore has written a file, and before it has ended."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.content: str | None = None

    def now(self) -> datetime:
        if self.content is not None and self.file.read_text() == self.content:
            self.content = None
            signal.raise_signal(signal.SIGINT)
        return super().now()


@pytest.mark.parametrize("option", ["--continue", "--undo"])
def test_ctrl_c_in_the_middle_of_a_restore_names_the_two_ways_out(repository: Path, option: str) -> None:
    put(repository, {"a.txt": "one\n"})
    clock = StoppingClock(repository / "a.txt")
    with holdfast.open(repository, clock=clock) as workspace:
        made = take(workspace)
        put(repository, {"a.txt": "x"})
        clock.content = "one\n"
        with pytest.raises(Interrupted, match="may be a mixture") as interrupted:
            holdfast.restore(workspace, made.id)
    assert interrupted.value.code == 130
    assert [hint.split("`")[1] for hint in interrupted.value.hints] == [
        "holdfast restore --continue",
        "holdfast restore --undo",
    ]
    Command.run("restore", option, directory=repository).ok()
    assert (repository / "a.txt").read_text() == ("one\n" if option == "--continue" else "x")


class AbsentClock(TickingClock):
    stopped = False

    def now(self) -> datetime:
        if self.stopped:
            raise KeyboardInterrupt
        return super().now()


def test_ctrl_c_before_anything_was_touched_is_nothing_but_that(repository: Path) -> None:
    put(repository, {"a.txt": "one\n"})
    clock = AbsentClock()
    with holdfast.open(repository, clock=clock) as workspace:
        made = take(workspace)
        clock.stopped = True
        with pytest.raises(KeyboardInterrupt):
            holdfast.restore(workspace, made.id)
        clock.stopped = False


# What is not brought back, or was not kept.


def with_submodule(held: Workspace, place: Path) -> str:
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    put(place, {"x": "x"})
    head = commit(place)
    git(held.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(place), "sm")
    commit(held.root)
    return head


def test_a_submodule_at_another_commit_is_named(held: Workspace, tmp_path: Path) -> None:
    head = with_submodule(held, tmp_path / "other")
    made = take(held)
    put(held.root / "sm", {"y": "y"})
    moved = commit(held.root / "sm")
    sentence = f"sm is at {moved[:10]}, was at {head[:10]}"
    assert sentence in say(held, "diff", made.id).ok().err
    assert f"Not brought back: {sentence}" in say(held, "restore", made.id).ok().err
    assert holdfast.restore(held, made.id, dry_run=True).left == {"sm": sentence.removeprefix("sm ")}
    second = take(held)
    assert sentence in say(held, "diff", made.id, second.id).ok().err
    assert holdfast.restore(held, made.id, ("dir",)).left == {}


def test_a_nested_repository_that_is_gone_is_named(held: Workspace) -> None:
    git(held.root, "init", "-q", "inner")
    put(held.root / "inner", {"x": "x"})
    head = commit(held.root / "inner")
    made = take(held)
    shutil.rmtree(held.root / "inner")
    done = say(held, "restore", made.id).ok()
    assert f"Not brought back: inner is not there, was at {head[:10]}" in done.err


def test_a_file_that_was_too_large_is_named_where_it_is_gone_or_different(held: Workspace) -> None:
    holdfast.config_set(held, "checkpoint.file_limit", "1")
    put(held.root, {"large": b"x" * 1_000_001, "other": b"x" * 1_000_001, "same": b"x" * 1_000_001})
    held.close()
    with holdfast.open(held.root, clock=held.clock) as again:
        made = take(again)
        (held.root / "large").unlink()
        put(held.root, {"other": "small now"})
        left = holdfast.restore(again, made.id).left
    assert left == {
        "large": "is gone; it was too large to be kept (1,000,001 bytes)",
        "other": "has changed; it was too large to be kept (1,000,001 bytes)",
    }


def test_a_checkpoint_says_why_something_was_not_kept(held: Workspace) -> None:
    holdfast.config_set(held, "checkpoint.file_limit", "1")
    put(held.root, {"large": b"x" * 1_000_001, ".gitattributes": "*.psd filter=lfs\n", "a.psd": "x"})
    put(held.root, {".gitignore": "ignored*\n"})
    os.mkfifo(held.root / "dir/pipe")
    os.mkfifo(held.root / "ignored-pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(held.root / "ear"))
        for _ in range(2):
            said = say(held, "checkpoint").ok().err
            for line in (
                "Not kept: large (1,000,001 bytes, the limit is 1 MB a file (`checkpoint.file_limit`))",
                "Not kept: a.psd (a git filter would change it (`checkpoint.filtered`))",
                "Not kept: dir/pipe (it is a pipe)",
                "Not kept: ear (it is a socket)",
            ):
                assert line in said
            assert "ignored-pipe" not in said
    (held.root / "dir/pipe").unlink()
    assert "dir/pipe" not in say(held, "checkpoint").ok().err


def test_the_limit_in_all_is_named_as_the_reason(held: Workspace) -> None:
    holdfast.config_set(held, "checkpoint.total_limit", "1")
    put(held.root, {"first": b"x" * 600_000, "second": b"y" * 600_000})
    said = say(held, "checkpoint").ok().err
    assert "(600,000 bytes, the limit is 1 MB in all (`checkpoint.total_limit`))" in said


# What would happen, what the run knows, and where there is nothing to do.


def test_a_dry_run_says_for_each_path_what_would_happen(held: Workspace) -> None:
    (held.root / "empty").mkdir()
    (held.root / "a.sh").write_text("x")
    made = take(held)
    put(held.root, {"a.txt": "x", "new": "new"})
    (held.root / "a.sh").chmod(0o755)
    shutil.rmtree(held.root / "dir")
    (held.root / "empty").rmdir()
    expected = {"a.sh": "mode", "a.txt": "write", "dir/b.txt": "create", "empty/": "create", "new": "remove"}
    assert holdfast.restore(held, made.id, dry_run=True).acts == expected
    done = say(held, "restore", made.id, "--dry-run").ok()
    assert sorted(done.out.splitlines(), key=lambda line: line[8:]) == [
        f"{act.ljust(6)}  {path}" for path, act in sorted(expected.items())
    ]
    assert done.err == "Would change 4 files and 1 empty directory\n"
    assert say(held, "restore", made.id, "--dry-run", "--json").ok().json["acts"] == expected


def test_a_restore_of_the_state_says_where_the_run_is_again(held: Workspace) -> None:
    holdfast.start(held, "goal")
    made = take(held)
    for text in ("one", "two"):
        holdfast.note(held, text)
    planned = say(held, "restore", made.id, "--state", "--dry-run").ok()
    assert f"The run would be back at event {made.seq}; 2 later events stay in the journal" in planned.err
    done = say(held, "restore", made.id, "--state").ok()
    assert f"The run is back at event {made.seq}; 2 later events stay in the journal" in done.err
    assert run_of(held).notes == []
    assert "The run is back at event" in say(held, "undo").ok().err


def test_a_restore_with_nothing_to_do_leaves_no_trace(held: Workspace) -> None:
    made = take(held, "here")
    done = say(held, "restore", made.id).ok()
    assert done.err == f"Nothing to do: the worktree is at {made.id} (here) already\n"
    assert done.out == f"{made.id}\n"
    assert kinds(held) == ["asked"]
    with pytest.raises(NotFound):
        holdfast.undo(held)


def test_an_undo_with_nothing_to_do_is_a_step_all_the_same(held: Workspace) -> None:
    made = take(held)
    for content in ("x", "y"):
        put(held.root, {"a.txt": content})
        holdfast.restore(held, made.id)
    put(held.root, {"a.txt": "y"})
    holdfast.undo(held)
    holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "x"


def test_a_refused_restore_leaves_no_checkpoint_behind(held: Workspace) -> None:
    made = take(held)
    with a_process() as child:
        theirs = holdfast.start(held, "theirs", pid=child.pid)
        assert theirs.session is not None
        holdfast.action(as_session(held, theirs.session.id), "edited", files=["a.txt"])
        put(held.root, {"a.txt": "theirs"})
        before = picture(held.root)
        with pytest.raises(Busy):
            holdfast.restore(held, made.id)
    assert kinds(held) == ["asked"]
    assert picture(held.root) == before


# Options that contradict each other or do nothing.


@pytest.mark.parametrize(
    "arguments",
    [
        ("restore", "here", "a.txt", "--state"),
        ("restore", "--undo", "--continue"),
        ("restore", "here", "--continue"),
        ("restore", "--undo", "--dry-run"),
        ("show", "here", "--at", "1"),
        ("show", "--diff"),
    ],
    ids=" ".join,
)
def test_options_that_would_do_nothing_are_wrong_usage(held: Workspace, arguments: tuple[str, ...]) -> None:
    holdfast.start(held, "goal")
    take(held, "here")
    put(held.root, {"a.txt": "x"})
    done = say(held, *arguments)
    assert (done.code, done.out) == (WrongUsage.code, "")
    assert len([line for line in done.err.splitlines() if line.startswith("holdfast: ")]) == 1
    assert (held.root / "a.txt").read_text() == "x"
