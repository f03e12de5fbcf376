"""Going back, and taking that back: exact, never destructive, and never over somebody else's work unasked."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.errors import Busy, HoldfastError, NotFound, Refused
from holdfast.core.model import Checkpoint, Draft, Restore
from holdfast.project.workspace import Workspace
from holdfast.worktree.packs import object_store
from tests.hostile.git_traps import set_traps
from tests.sessions import a_process, as_session, kill, run_of
from tests.tools import Command
from tests.worktrees import (
    Picture,
    back,
    commit,
    git,
    insides,
    locks,
    picture,
    put,
    said_by_git,
    take,
    tree_by_git,
    wreck,
)

HELD: dict[str, str | bytes] = {
    "a.txt": "one\n",
    "dir/b.txt": "two\n",
    "dir/deep/c.bin": bytes(range(256)),
    "zero": b"",
}


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, HELD)
    (project.root / "link").symlink_to("dir")
    (project.root / "zero").chmod(0o600)
    commit(project.root)
    return project


# Undo and redo.


@pytest.mark.promise(9)
def test_undo_and_redo_walk_through_every_state_byte_for_byte(held: Workspace) -> None:
    states: list[tuple[Checkpoint, Picture]] = [(take(held), picture(held.root))]
    for number in range(3):
        put(held.root, {f"new{number}": f"{number}", "a.txt": f"{number}\n"})
        (held.root / "zero").chmod(0o640 + number)
        states.append((take(held), picture(held.root)))
    wreck(held.root)
    seen = [picture(held.root)]
    for checkpoint, expected in states:
        back(held, checkpoint)
        assert picture(held.root) == expected
        seen.append(expected)
    for expected in reversed(seen[:-1]):
        holdfast.undo(held)
        assert picture(held.root) == expected
    with pytest.raises(NotFound):
        holdfast.undo(held)
    for expected in seen[1:]:
        holdfast.redo(held)
        assert picture(held.root) == expected
    with pytest.raises(NotFound):
        holdfast.redo(held)


@pytest.mark.parametrize("also", [{}, {"index": True}, {"state": True}], ids=["files", "index", "state"])
def test_where_all_is_there_already_nothing_happens_and_there_is_no_step_to_undo(
    held: Workspace, also: dict[str, Any]
) -> None:
    run = holdfast.start(held, "goal").run.id
    made = take(held)
    put(held.root, {"a.txt": "later"})
    git(held.root, "add", "a.txt")
    holdfast.note(held, "later")
    assert holdfast.restore(held, made.id, **also).restore is not None
    seq = run_of(held, run).seq
    kept = [found.id for found in holdfast.checkpoints(held).checkpoints]
    assert holdfast.restore(held, made.id, **also).restore is None
    assert (run_of(held, run).seq, [found.id for found in holdfast.checkpoints(held).checkpoints]) == (seq, kept)
    holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "later"


def test_a_checkpoint_after_a_restore_counts_what_that_has_changed(held: Workspace) -> None:
    """It was counted from the look that a restore takes at its end, and every checkpoint after one said 0 files."""
    first = take(held)
    put(held.root, {"a.txt": "two", "new": "new"})
    second = take(held)
    back(held, first)
    assert take(held).changed == ["a.txt", "new"]
    back(held, second)
    holdfast.undo(held)
    holdfast.redo(held)
    put(held.root, {"zero": "not any more"})
    assert take(held).changed == ["a.txt", "new", "zero"]
    assert take(held).changed == []


@pytest.mark.promise(9)
def test_what_was_never_in_a_checkpoint_comes_back_with_undo(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"never kept": b"\x00\xff", "dir/a.txt": "x"})
    (held.root / "link").unlink()
    (held.root / "empty").mkdir()
    before = picture(held.root)
    back(held, made)
    holdfast.undo(held)
    assert picture(held.root) == before


def test_a_new_restore_ends_what_could_be_redone(held: Workspace) -> None:
    first = take(held)
    put(held.root, {"a.txt": "changed"})
    back(held, first)
    holdfast.undo(held)
    back(held, first)
    with pytest.raises(NotFound):
        holdfast.redo(held)


def test_undo_keeps_what_was_done_after_the_restore(held: Workspace) -> None:
    first = take(held)
    put(held.root, {"a.txt": "changed"})
    back(held, first)
    put(held.root, {"later": "later"})
    after = picture(held.root)
    holdfast.undo(held)
    assert not (held.root / "later").exists()
    holdfast.redo(held)
    assert picture(held.root) == after


# Parts, and looking without touching.


def test_only_the_named_paths_go_back(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x", "dir/b.txt": "x", "dir/new": "x", "dir.txt": "x", "zero": "x"})
    done = back(held, made, "dir", "zero")
    assert done.paths == ["dir/b.txt", "dir/new", "zero"]
    assert (held.root / "zero").stat().st_mode & 0o777 == 0o600
    assert {(held.root / name).read_text() for name in ("a.txt", "dir.txt")} == {"x"}
    holdfast.undo(held)
    assert {(held.root / name).read_text() for name in ("dir/b.txt", "dir/new", "zero")} == {"x"}


def test_a_named_path_is_no_pattern(held: Workspace) -> None:
    put(held.root, {"*": "star", "[a]": "brackets"})
    made = take(held)
    put(held.root, {"*": "x", "[a]": "x", "a.txt": "x"})
    assert back(held, made, "*").paths == ["*"]
    assert back(held, made, "[a]").paths == ["[a]"]


def test_paths_are_meant_from_where_the_command_is_run(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"dir/b.txt": "x", "a.txt": "x"})
    Command.run("restore", made.id, "b.txt", directory=held.root / "dir").ok()
    Command.run("restore", made.id, str(held.root / "a.txt"), directory=held.root / "dir").ok()
    assert [(held.root / name).read_text() for name in ("dir/b.txt", "a.txt")] == ["two\n", "one\n"]


def test_a_path_that_is_not_utf_8_can_be_named(held: Workspace) -> None:
    name = os.fsdecode(b"\xff\xfe")
    put(held.root, {name: "kept"})
    made = take(held)
    put(held.root, {name: "x"})
    back(held, made, name)
    assert (held.root / name).read_text() == "kept"


def test_a_dry_run_says_what_would_change_and_changes_nothing(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "never kept before", "new": "new"})
    take_before, files, repository = holdfast.checkpoints(held), picture(held.root), insides(held.root)
    found = holdfast.restore(held, made.id, dry_run=True)
    assert (found.paths, found.restore, found.dry_run) == (["a.txt", "new"], None, True)
    assert (picture(held.root), insides(held.root)) == (files, repository)
    assert holdfast.checkpoints(held) == take_before
    with pytest.raises(NotFound):
        holdfast.undo(held)


def test_only_what_differs_is_touched(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x"})
    before = {name: (held.root / name).stat() for name in ("dir/b.txt", "zero", "dir/deep/c.bin")}
    done = back(held, made)
    assert (done.paths, done.written, done.removed) == (["a.txt"], 1, 0)
    for name, status in before.items():
        now = (held.root / name).stat()
        assert (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) == (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def test_going_back_to_what_is_there_touches_nothing(held: Workspace) -> None:
    made = take(held)
    done = back(held, made)
    assert (done.paths, done.written, done.removed, done.moved_aside) == ([], 0, 0, {})


# What is in the way.


@pytest.mark.promise(9)
def test_ignored_files_in_the_way_are_moved_aside_and_named(held: Workspace) -> None:
    made = take(held)
    put(held.root, {".gitignore": "*.log\n"})
    (held.root / "a.txt").unlink()
    put(held.root, {"a.txt/precious.log": "precious"})
    done = back(held, made)
    assert list(done.moved_aside) == ["a.txt"]
    assert (held.root / "a.txt").read_text() == "one\n"
    kept = [path for path in (held.place / "aside").rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == ["precious"]


@pytest.mark.promise(9)
def test_an_ignored_file_where_a_directory_belongs_is_moved_aside(held: Workspace) -> None:
    made = take(held)
    put(held.root, {".gitignore": "dir\n"})
    wreck_directory(held.root / "dir")
    git(held.root, "rm", "-rq", "--cached", "dir")
    put(held.root, {"dir": "precious"})
    before = picture(held.root)
    back(held, made)
    assert (held.root / "dir/b.txt").read_text() == "two\n"
    kept = [path.read_text() for path in (held.place / "aside").rglob("*") if path.is_file()]
    holdfast.undo(held)
    assert kept == ["precious"] or picture(held.root) == before


def wreck_directory(directory: Path) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    directory.rmdir()


@pytest.mark.promise(9)
def test_ignored_files_in_a_directory_that_goes_are_not_lost(held: Workspace) -> None:
    made = take(held)
    put(held.root, {".git/info/exclude": "*.log\n", "new/kept.txt": "x", "new/precious.log": "precious"})
    back(held, made)
    assert not (held.root / "new/kept.txt").exists()
    assert (held.root / "new/precious.log").read_text() == "precious"


@pytest.mark.promise(9)
def test_what_was_ignored_only_since_the_checkpoint_is_not_lost_and_stops_nothing(held: Workspace) -> None:
    made = take(held)
    put(held.root, {".gitignore": "cache/\n", "cache/x": "ignored", "a.txt": "changed"})
    back(held, made)
    assert (held.root / "cache/x").read_text() == "ignored"
    assert (held.root / "a.txt").read_text() == "one\n"


@pytest.mark.promise(9)
def test_clean_fd_over_a_wrong_directory(held: Workspace, tmp_path: Path) -> None:
    """A report about another tool: going back ran `git clean -fd`, in a directory that was not the project's."""
    put(tmp_path, {"outside.txt": "outside", "beside/x": "x"})
    (tmp_path / "empty").mkdir()
    outside = {path: value for path, value in picture(tmp_path).items() if not path.startswith(b"project")}
    made = take(held)
    put(held.root, {".git/info/exclude": "cache/\n", "cache/x": "ignored", "dir/new": "new"})
    nested = held.root / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    put(nested, {"uncommitted": "work"})
    for directory in (held.root / "dir", held.root):
        Command.run("restore", made.id, "--yes", directory=directory).ok()
    assert {path: value for path, value in picture(tmp_path).items() if not path.startswith(b"project")} == outside
    assert (held.root / "cache/x").read_text() == "ignored"
    assert (nested / "uncommitted").read_text() == "work"
    assert not (held.root / "dir/new").exists()


@pytest.mark.promise(9, 23)
def test_what_the_checkpoints_own_rules_ignore_is_not_taken_away(project: Workspace) -> None:
    """A new user lost his .env: he had broken .gitignore, and went back to before that."""
    put(project.root, {".gitignore": ".env\nnode_modules/\n", ".env": "secret", "node_modules/x": "x", "a": "one"})
    good = take(project)
    put(project.root, {".gitignore": "nothing\n", "a": "two", "new": "new"})
    done = back(project, good)
    assert (done.removed, (project.root / "new").exists()) == (1, False)
    assert (project.root / ".env").read_text() == "secret"
    assert (project.root / "node_modules/x").read_text() == "x"
    before = picture(project.root)
    holdfast.undo(project)
    assert (project.root / ".gitignore").read_text() == "nothing\n"
    holdfast.redo(project)
    assert picture(project.root) == before


def test_a_link_never_leads_a_restore_out_of_the_worktree(held: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(outside, {"b.txt": "outside", "deep/c.bin": "outside", "new": "outside"})
    put(held.root, {"dir/new": "new"})
    with_new = take(held)
    (held.root / "dir/new").unlink()
    made = take(held)
    for checkpoint in (with_new, made):
        wreck_directory(held.root / "dir")
        (held.root / "dir").symlink_to(outside)
        back(held, checkpoint)
        assert (held.root / "dir/b.txt").read_text() == "two\n"
        assert not (held.root / "dir").is_symlink()
    assert {path.read_text() for path in outside.rglob("*") if path.is_file()} == {"outside"}


@pytest.mark.promise(23)
def test_a_link_never_leads_a_checkpoint_out_of_the_worktree(held: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(outside, {"b.txt": "secret", "deep/c.bin": "secret"})
    take(held)
    wreck_directory(held.root / "dir")
    (held.root / "dir").symlink_to(outside)
    assert take(held).tree == tree_by_git(held.root)
    assert holdfast.checkpoint(held, files=("dir/b.txt", "dir")).checkpoint.tree == tree_by_git(held.root)


# What the user sees in git.


def everything(workspace: Workspace) -> None:
    """Every verb that deals with checkpoints, one after the other."""
    first = take(workspace, "first")
    put(workspace.root, {"a.txt": "changed", "new": "new"})
    second = take(workspace)
    holdfast.diff(workspace, first.id, second.id)
    holdfast.diff(workspace, first.id)
    back(workspace, first)
    holdfast.undo(workspace)
    holdfast.redo(workspace)
    holdfast.restore(workspace, second.id, ("a.txt",))
    holdfast.guard(workspace, ("true",))
    holdfast.guard(workspace, ("false",), auto=True)
    holdfast.checkpoints(workspace, touching="a.txt")
    holdfast.tidy(workspace, most=1)
    back(workspace, first)


@pytest.mark.promise(10)
def test_nothing_of_the_users_repository_changes_whatever_is_done(held: Workspace) -> None:
    root = held.root
    put(root, {"staged": "staged"})
    git(root, "stash", "push", "-q", "--include-untracked")
    put(root, {"staged": "staged again"})
    git(root, "add", "staged")
    git(root, "tag", "v1")
    put(root, {".git/hooks/pre-commit": "#!/bin/sh\n", "zero": "changed"})
    git(root, "status")
    before, said = insides(root), said_by_git(root)
    first = take(held, "the very first")
    assert insides(root) == before
    everything(held)
    assert insides(root) == before
    back(held, first)
    assert insides(root) == before
    assert said_by_git(root) == said
    assert list(locks(root)) == []
    assert "holdfast" not in str(said)


@pytest.mark.promise(10)
def test_our_ref_is_in_no_push_and_no_clone(held: Workspace, tmp_path: Path) -> None:
    take(held)
    assert "refs/holdfast/main" in git(held.root, "for-each-ref")
    git(tmp_path, "init", "-q", "--bare", "remote")
    git(held.root, "push", "-q", "--all", str(tmp_path / "remote"))
    git(tmp_path, "clone", "-q", str(held.root), "clone")
    for place in ("remote", "clone"):
        assert "refs/holdfast" not in git(tmp_path / place, "for-each-ref")


@pytest.mark.promise(10)
def test_an_index_lock_left_behind_by_a_kill(held: Workspace) -> None:
    """A report about another tool. We take no such lock for a checkpoint or restore, and mind none that is there."""
    lock = held.root / ".git/index.lock"
    lock.write_bytes(b"somebody's")
    everything(held)
    assert list(locks(held.root)) == [lock]
    assert lock.read_bytes() == b"somebody's"


@pytest.mark.promise(10)
def test_a_lock_on_our_own_ref_left_behind_by_a_kill_does_not_stop_us(held: Workspace) -> None:
    """Whatever date it has, by a clock that was turned back or not."""
    take(held)
    lock = held.root / ".git/refs/holdfast/main.lock"
    made = held.place / "worktrees" / ids.file_name(held.worktree) / "ref.new"
    made.write_bytes(b"half")
    os.link(made, lock)
    put(held.root, {"a.txt": "changed"})
    take(held)
    assert list(locks(held.root)) == []
    assert not made.exists()


@pytest.mark.promise(1, 10)
def test_a_lock_on_our_ref_that_git_holds_is_never_broken(held: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git pack-refs` that stood still for a second took an acknowledged checkpoint out of the ref afterwards."""
    monkeypatch.setattr(object_store, "REF_PATIENCE", 0.05)
    take(held)
    lock = held.root / ".git/refs/holdfast/main.lock"
    lock.write_bytes(b"")
    os.utime(lock, (1, 1))
    put(held.root, {"a.txt": "changed"})
    with pytest.raises(Busy, match="Another process locks our ref") as found:
        take(held)
    assert f"`rm {lock}`, if no git is at work here" in found.value.hints
    assert lock.exists()
    lock.unlink()
    take(held)


def test_a_ref_is_locked_where_no_file_has_a_second_name(held: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    take(held)
    monkeypatch.setattr(os, "link", refuse)
    put(held.root, {"a.txt": "changed"})
    made = take(held)
    assert holdfast.verify(held).problems == []
    assert holdfast.diff(held, made.id).code == ""
    assert list(locks(held.root)) == []


@pytest.mark.promise(10, 23)
def test_nothing_that_a_hostile_repository_configures_is_ever_run(held: Workspace, tmp_path: Path) -> None:
    owned, elsewhere, root = tmp_path / "owned", tmp_path / "elsewhere", held.root
    set_traps(root, owned, elsewhere)
    put(elsewhere, {"precious": "precious"})
    holdfast.config_set(held, "checkpoint.filtered", "keep")
    del held.settings
    before, files, outside = insides(root), picture(root), picture(elsewhere)
    first = take(held, "the very first")
    everything(held)
    holdfast.bisect(held, ("grep", "-q", "one", "a.txt"), good=first.id, bad=_with(held, {"a.txt": "bad"}).id)
    back(held, first)
    assert not owned.exists()
    assert picture(root) == files
    assert insides(root) == before
    assert picture(elsewhere) == outside


def _with(workspace: Workspace, content: dict[str, str | bytes]) -> Checkpoint:
    put(workspace.root, content)
    return take(workspace)


# What was staged.


def test_the_index_is_left_alone_unless_it_is_asked_for(held: Workspace) -> None:
    root = held.root
    put(root, {"a.txt": "staged\n", "added": "added\n"})
    git(root, "add", "a.txt", "added")
    put(root, {"a.txt": "not staged\n"})
    made = take(held)
    status = git(root, "status", "--porcelain")
    git(root, "reset", "-q", "--hard")
    before = (root / ".git/index").read_bytes()
    back(held, made)
    assert (root / ".git/index").read_bytes() == before
    holdfast.restore(held, made.id, index=True)
    assert git(root, "status", "--porcelain") == status
    assert git(root, "show", ":a.txt") == "staged"
    assert git(root, "show", ":added") == "added"
    assert list(locks(root)) == []
    git(root, "fsck", "--full")


def test_the_index_is_not_taken_from_somebody_who_holds_it(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "changed"})
    git(held.root, "add", "a.txt")
    before = (held.root / ".git/index").read_bytes()
    lock = held.root / ".git/index.lock"
    lock.write_bytes(b"theirs")
    with pytest.raises(HoldfastError):
        holdfast.restore(held, made.id, index=True)
    assert lock.read_bytes() == b"theirs"
    assert (held.root / ".git/index").read_bytes() == before
    lock.unlink()
    holdfast.continue_restore(held)
    assert (held.root / "a.txt").read_text() == "one\n"


# What the run knows.


def knows(project: Workspace) -> tuple[list[str], list[str]]:
    run = run_of(project)
    return [found.text for found in run.standing_decisions], [found.text for found in run.open_tasks]


def test_the_state_goes_back_and_names_are_not_used_again(held: Workspace) -> None:
    holdfast.start(held, "goal")
    holdfast.decide(held, "first")
    holdfast.add_task(held, "task")
    made = take(held)
    holdfast.decide(held, "second")
    holdfast.revoke(held, "1")
    holdfast.finish_task(held, "1")
    put(held.root, {"a.txt": "changed"})
    assert knows(held) == (["second"], [])
    holdfast.restore(held, made.id, code=False, state=True)
    assert knows(held) == (["first"], ["task"])
    assert (held.root / "a.txt").read_text() == "changed"
    assert holdfast.decide(held, "third").entry == "d3"
    assert knows(held) == (["first", "third"], ["task"])


@pytest.mark.promise(9)
def test_undo_brings_back_what_the_run_knew(held: Workspace) -> None:
    holdfast.start(held, "goal")
    holdfast.decide(held, "first")
    made = take(held)
    holdfast.decide(held, "second")
    put(held.root, {"a.txt": "changed"})
    holdfast.restore(held, made.id, state=True)
    assert (knows(held)[0], (held.root / "a.txt").read_text()) == (["first"], "one\n")
    holdfast.undo(held)
    assert (knows(held)[0], (held.root / "a.txt").read_text()) == (["first", "second"], "changed")
    holdfast.redo(held)
    assert (knows(held)[0], (held.root / "a.txt").read_text()) == (["first"], "one\n")


def test_a_checkpoint_without_a_run_knows_no_state(held: Workspace) -> None:
    made = take(held)
    with pytest.raises(Refused):
        holdfast.restore(held, made.id, state=True)


# Others at work.


@pytest.mark.promise(9)
def test_rewind_in_one_session_removing_another_sessions_work(held: Workspace) -> None:
    """A report about another tool. Here it is refused while the other one lives, unless it is forced; undo helps."""
    made = take(held)
    with a_process() as child:
        theirs = holdfast.start(held, "theirs", pid=child.pid)
        assert theirs.session is not None
        other = as_session(held, theirs.session.id)
        holdfast.action(other, "edited", files=["a.txt", str(held.root / "dir/b.txt")])
        put(held.root, {"a.txt": "theirs", "dir/b.txt": "theirs", "zero": "mine"})
        with pytest.raises(Busy) as refused:
            back(held, made)
        assert {path for _, path in refused.value.facts} == {"a.txt", "dir/b.txt"}
        assert (held.root / "a.txt").read_text() == "theirs"
        back(held, made, "zero")
        assert (held.root / "zero").read_text() == ""
        back(other, made, "dir")
        holdfast.restore(held, made.id, force=True)
        assert (held.root / "a.txt").read_text() == "one\n"
        holdfast.undo(held)
        assert (held.root / "a.txt").read_text() == "theirs"
        kill(child)
    back(held, made)
    assert (held.root / "a.txt").read_text() == "one\n"


# What a kill leaves.


@pytest.fixture
def killed(held: Workspace) -> tuple[Workspace, Picture, Picture]:
    """A restore that was killed half way: the worktree is a mixture of two states."""
    target, after = take(held), picture(held.root)
    put(held.root, {"a.txt": "changed", "dir/b.txt": "changed", "new": "new"})
    before, was = take(held), picture(held.root)
    wanted = Restore(ids.make("res"), held.clock.now(), before.id, target.id)
    with held.writing() as journal:
        journal.append(journal.ledger(held.worktree).id, Draft("restore.began", {"restore": wanted}))
    put(held.root, {"a.txt": "one\n"})
    return held, was, after


TOLD: dict[str, Callable[[Workspace], object]] = {
    "restore": lambda project: holdfast.restore(project, holdfast.checkpoints(project).checkpoints[-1].id),
    "undo": holdfast.undo,
    "redo": holdfast.redo,
    "guard": lambda project: holdfast.guard(project, ("true",)),
    "bisect": lambda project: holdfast.bisect(project, ("true",)),
}


@pytest.mark.promise(9)
@pytest.mark.parametrize("verb", TOLD)
def test_an_unfinished_restore_stops_whoever_would_build_upon_it(
    killed: tuple[Workspace, Picture, Picture], verb: str
) -> None:
    project, _, _ = killed
    with pytest.raises(Refused, match="interrupted"):
        TOLD[verb](project)


@pytest.mark.promise(9)
@pytest.mark.parametrize("line", [("status",), ("checkpoint",), ("checkpoints",)], ids=" ".join)
def test_an_unfinished_restore_is_told_by_the_next_command(
    killed: tuple[Workspace, Picture, Picture], line: tuple[str, ...]
) -> None:
    done = Command.run(*line, directory=killed[0].root)
    assert "restore --continue" in done.err + done.out


@pytest.mark.promise(9)
def test_an_unfinished_restore_can_be_finished(killed: tuple[Workspace, Picture, Picture]) -> None:
    project, was, after = killed
    holdfast.continue_restore(project)
    assert picture(project.root) == after
    holdfast.undo(project)
    assert picture(project.root) == was


@pytest.mark.promise(9)
def test_an_unfinished_restore_can_be_taken_back(killed: tuple[Workspace, Picture, Picture]) -> None:
    project, was, _ = killed
    holdfast.undo_restore(project)
    assert picture(project.root) == was
    with pytest.raises(NotFound):
        holdfast.undo(project)


@pytest.mark.promise(9)
def test_an_unfinished_restore_can_be_finished_after_somebody_wrote(killed: tuple[Workspace, Picture, Picture]) -> None:
    project, _, after = killed
    put(project.root, {"dir/b.txt": "never kept before"})
    holdfast.continue_restore(project)
    assert picture(project.root) == after


def test_without_an_unfinished_restore_there_is_nothing_to_continue(held: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.continue_restore(held)
