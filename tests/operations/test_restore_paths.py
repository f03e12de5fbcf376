"""What going back touches and what it leaves: named paths, what stood in the way, the index, what a kill left."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.errors import Damaged, Interrupted, NotFound, Refused, WrongUsage
from holdfast.core.model import Checkpoint, Draft, Restore
from holdfast.project.workspace import Workspace
from holdfast.worktree.metadata import is_temporary
from holdfast.worktree.restore.writer import FEW
from tests.tools import Command
from tests.worktrees import back, commit, git, insides, locks, picture, put, take

pytestmark = pytest.mark.promise(9)

LEFT = ".holdfast-restore-0123456789ab"


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n", "dir/b.txt": "two\n", "dir/deep/c": "three\n"})
    commit(project.root)
    return project


# Named paths.


@pytest.mark.parametrize(
    ("where", "path"),
    [("dir", "b.txt"), ("dir", "./b.txt"), ("dir/deep", "../b.txt"), ("dir", "."), ("", "dir"), ("dir", "{root}/dir")],
)
def test_a_path_is_meant_from_where_the_command_runs(held: Workspace, where: str, path: str) -> None:
    made = take(held)
    put(held.root, {"dir/b.txt": "x", "a.txt": "x"})
    named = path.replace("{root}", str(held.root))
    assert "-two" in Command.run("diff", made.id, named, directory=held.root / where).ok().out
    Command.run("restore", made.id, named, directory=held.root / where).ok()
    assert [(held.root / name).read_text() for name in ("dir/b.txt", "a.txt")] == ["two\n", "x"]


def test_a_path_may_lead_into_the_worktree_through_a_link(held: Workspace, tmp_path: Path) -> None:
    made = take(held)
    (tmp_path / "way").symlink_to(held.root)
    put(held.root, {"a.txt": "x"})
    back(held, made, str(tmp_path / "way/a.txt"))
    assert (held.root / "a.txt").read_text() == "one\n"


def test_a_path_that_is_not_utf_8_is_named_on_the_command_line_and_undone(held: Workspace) -> None:
    name = os.fsdecode(b"dir/\xff\\xfe\\")
    put(held.root, {name: "kept"})
    made = take(held)
    put(held.root, {name: "x", "a.txt": "x"})
    Command.run("restore", made.id, os.path.basename(name), directory=held.root / "dir").ok()
    assert (held.root / name).read_text() == "kept"
    holdfast.undo(held)
    assert (held.root / name).read_text() == "x"


def test_a_path_that_names_nothing_is_not_found_and_nothing_happens(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x", ".gitignore": "ignored\n", "ignored": "x"})
    listed = holdfast.checkpoints(held, safety=True)
    for path in ("nothing", "dir/nothing", "a.txt/below", "ignored", ".git/config"):
        with pytest.raises(NotFound) as refused:
            back(held, made, "a.txt", path)
        assert refused.value.facts == [("path", path)]
        with pytest.raises(NotFound):
            holdfast.diff(held, made.id, None, (path,))
    assert (held.root / "a.txt").read_text() == "x"
    assert holdfast.checkpoints(held, safety=True) == listed


def test_a_path_outside_of_the_worktree_is_wrong_usage(held: Workspace) -> None:
    made = take(held)
    for path in ("..", "../outside", "/etc/passwd", "dir/../../outside", f"{held.root}2"):
        with pytest.raises(WrongUsage):
            back(held, made, path)
        with pytest.raises(WrongUsage):
            holdfast.diff(held, made.id, None, (path,))


def test_a_created_file_may_be_named_and_goes(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"new/file": "x", "other": "x"})
    assert back(held, made, "new").removed == 1
    assert not (held.root / "new").exists()
    assert (held.root / "other").exists()


def test_what_was_created_where_a_file_had_to_make_way_is_redone_too(held: Workspace) -> None:
    made = take(held)
    shutil.rmtree(held.root / "dir")
    put(held.root, {"dir": "precious"})
    back(held, made, "dir/deep/c")
    put(held.root, {"dir/later": "later"})
    after = picture(held.root)
    holdfast.undo(held)
    assert (held.root / "dir").read_text() == "precious"
    holdfast.redo(held)
    assert picture(held.root) == after


# Many files, and only modes.


def test_many_files_go_back_with_their_modes(held: Workspace) -> None:
    for number in range(3 * FEW):
        put(held.root, {f"many/{number % 7}/{number}": f"{number}"})
        (held.root / f"many/{number % 7}/{number}").chmod((0o644, 0o755, 0o600)[number % 3])
    made, before = take(held), picture(held.root)
    shutil.rmtree(held.root / "many/3")
    for path in (held.root / "many").rglob("*"):
        if path.is_file():
            path.write_text("changed") if int(path.name) % 2 else path.chmod(0o640)
    changed = picture(held.root)
    back(held, made)
    assert picture(held.root) == before
    holdfast.undo(held)
    assert picture(held.root) == changed


def test_a_file_of_which_only_the_mode_differs_is_not_written_again(held: Workspace) -> None:
    made = take(held)
    (held.root / "a.txt").chmod(0o755)
    (held.root / "dir/b.txt").chmod(0o600)
    inodes = [(held.root / name).stat().st_ino for name in ("a.txt", "dir/b.txt")]
    assert back(held, made).written == 2
    assert [(held.root / name).stat().st_ino for name in ("a.txt", "dir/b.txt")] == inodes
    assert [(held.root / name).stat().st_mode & 0o777 for name in ("a.txt", "dir/b.txt")] == [0o644, 0o644]


# What stood in the way.


def test_what_was_moved_aside_comes_back_with_undo_where_its_place_is_free(held: Workspace) -> None:
    made = take(held)
    put(held.root, {".gitignore": "*.log\n"})
    (held.root / "a.txt").unlink()
    put(held.root, {"a.txt/precious.log": "precious", "a.txt/kept": "kept"})
    before = picture(held.root)
    done = Command.run("restore", made.id, directory=held.root).ok()
    (place,) = (held.place / "aside").glob("res-*/a.txt")
    assert str(place) in done.err
    undone = Command.run("undo", directory=held.root).ok()
    assert "a.txt/precious.log" in undone.err
    assert picture(held.root) == before
    assert list((held.place / "aside").rglob("*.log")) == []
    holdfast.redo(held)
    assert (held.root / "a.txt").read_text() == "one\n"
    holdfast.undo(held)
    assert picture(held.root) == before


def test_an_ignored_file_that_made_way_for_a_named_path_comes_back_with_undo(held: Workspace) -> None:
    made = take(held)
    put(held.root, {".git/info/exclude": "dir\n"})
    shutil.rmtree(held.root / "dir")
    put(held.root, {"dir": "precious"})
    git(held.root, "rm", "-rq", "--cached", "dir")
    back(held, made, "dir/b.txt")
    assert (held.root / "dir/b.txt").read_text() == "two\n"
    holdfast.undo(held)
    assert (held.root / "dir").read_text() == "precious"


def test_what_is_moved_aside_never_replaces_what_lies_there(held: Workspace) -> None:
    project, _, restore = _unfinished(held)
    put(held.place / "aside" / restore.id, {"a.txt/first.log": "first"})
    put(project.root, {".git/info/exclude": "*.log\n"})
    (project.root / "a.txt").unlink()
    put(project.root, {"a.txt/second.log": "second"})
    holdfast.continue_restore(project)
    kept = sorted(path.read_text() for path in (held.place / "aside").rglob("*.log"))
    assert kept == ["first", "second"]


def test_a_repository_made_in_a_directory_of_the_checkpoint_is_not_written_into(held: Workspace) -> None:
    made = take(held)
    (held.root / "dir/b.txt").write_text("x")
    git(held.root / "dir", "init", "-q")
    before = picture(held.root)
    with pytest.raises(Refused, match="repository"):
        back(held, made)
    assert picture(held.root) == before
    holdfast.restore(held, made.id, ("a.txt",))
    shutil.rmtree(held.root / "dir/.git")
    back(held, made)
    assert (held.root / "dir/b.txt").read_text() == "two\n"


def test_files_of_what_was_a_nested_repository_are_left_alone(held: Workspace) -> None:
    git(held.root, "init", "-q", "nested")
    put(held.root, {"nested/file": "its own"})
    made = take(held)
    shutil.rmtree(held.root / "nested/.git")
    put(held.root, {"a.txt": "x"})
    back(held, made)
    assert (held.root / "nested/file").read_text() == "its own"
    assert (held.root / "a.txt").read_text() == "one\n"


# The index.


def _staged(held: Workspace) -> tuple[Checkpoint, bytes]:
    """A checkpoint with something staged, and an index that is in a state of its own since."""
    put(held.root, {"a.txt": "staged\n"})
    git(held.root, "add", "a.txt")
    made = take(held)
    git(held.root, "reset", "-q", "--hard")
    put(held.root, {"meant": "meant"})
    git(held.root, "add", "-N", "meant")
    git(held.root, "update-index", "--skip-worktree", "dir/b.txt")
    return made, (held.root / ".git/index").read_bytes()


def test_undo_after_index_puts_the_index_back_byte_for_byte(held: Workspace) -> None:
    made, before = _staged(held)
    index = held.root / ".git/index"
    holdfast.restore(held, made.id, index=True)
    after = index.read_bytes()
    assert git(held.root, "show", ":a.txt") == "staged"
    holdfast.undo(held)
    assert index.read_bytes() == before
    holdfast.redo(held)
    assert index.read_bytes() == after
    assert list(locks(held.root)) == []


def test_continue_puts_the_index_back_too_and_undo_leaves_it(held: Workspace) -> None:
    made, before = _staged(held)
    _leave(held, Restore(ids.make("res"), held.clock.now(), take(held).id, made.id, index=True))
    holdfast.undo_restore(held)
    assert (held.root / ".git/index").read_bytes() == before
    _leave(held, Restore(ids.make("res"), held.clock.now(), take(held).id, made.id, index=True))
    holdfast.continue_restore(held)
    assert git(held.root, "show", ":a.txt") == "staged"
    holdfast.undo(held)
    assert (held.root / ".git/index").read_bytes() == before


@pytest.mark.promise(9, 10)
@pytest.mark.parametrize("form", ["--no-sparse-index", "--sparse-index"])
def test_what_a_sparse_checkout_leaves_out_does_not_count_as_deleted_when_the_index_is_put_back(
    held: Workspace, form: str
) -> None:
    git(held.root, "sparse-checkout", "set", "--cone", form, "other")
    put(held.root, {"a.txt": "staged"})
    git(held.root, "add", "a.txt")
    made = take(held)
    commit(held.root)
    holdfast.restore(held, made.id, index=True)
    assert git(held.root, "status", "--porcelain") == ""
    assert git(held.root, "ls-files", "-v", "dir") == "S dir/b.txt\nS dir/deep/c"
    assert not (held.root / "dir").exists()


def test_a_file_that_git_was_told_to_leave_alone_stays_so_when_the_index_is_put_back(held: Workspace) -> None:
    git(held.root, "update-index", "--skip-worktree", "a.txt")
    put(held.root, {"a.txt": "of this machine"})
    made = take(held)
    put(held.root, {"gone": "staged since"})
    git(held.root, "add", "gone")
    git(held.root, "update-index", "--skip-worktree", "gone")
    holdfast.restore(held, made.id, index=True)
    assert git(held.root, "ls-files", "-v") == "S a.txt\nH dir/b.txt\nH dir/deep/c"
    assert git(held.root, "status", "--porcelain") == ""


def test_an_index_lock_of_ours_that_a_kill_left_is_taken_away(held: Workspace) -> None:
    made, _ = _staged(held)
    _leave(held, Restore(ids.make("res"), held.clock.now(), take(held).id, made.id, index=True))
    ours = held.place / "worktrees" / ids.file_name(held.worktree) / "index.new"
    ours.write_bytes(b"half")
    os.link(ours, held.root / ".git/index.lock")
    holdfast.continue_restore(held)
    assert list(locks(held.root)) == []
    assert git(held.root, "show", ":a.txt") == "staged"


@pytest.mark.parametrize("call", ["link", "rename"])
def test_whoever_interrupts_a_restore_finds_no_lock_on_the_index(
    held: Workspace, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Git then refused every `add` and `commit`."""
    made, _ = _staged(held)
    act = getattr(os, call)

    def interrupt(source: Any, target: Any, **options: Any) -> None:
        if {os.path.basename(source), os.path.basename(target)} & {"index.lock"}:
            if call == "link":
                act(source, target, **options)
            raise KeyboardInterrupt
        act(source, target, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, interrupt)
        with pytest.raises(Interrupted):
            holdfast.restore(held, made.id, index=True)
    assert list(locks(held.root)) == []
    holdfast.continue_restore(held)
    assert git(held.root, "show", ":a.txt") == "staged"


# What a kill leaves.


def _leave(held: Workspace, restore: Restore) -> None:
    with held.writing() as journal:
        journal.append(journal.ledger(held.worktree).id, Draft("restore.began", {"restore": restore}))


def _unfinished(held: Workspace) -> tuple[Workspace, Checkpoint, Restore]:
    target = take(held)
    put(held.root, {"a.txt": "changed", "dir/b.txt": "changed", "new/file": "new"})
    restore = Restore(ids.make("res"), held.clock.now(), take(held).id, target.id)
    _leave(held, restore)
    return held, target, restore


@pytest.mark.parametrize("option", ["--continue", "--undo"])
@pytest.mark.parametrize("place", ["", "dir", "dir/deep", "new"])
def test_a_file_that_a_kill_left_half_written_goes_and_is_in_no_checkpoint(
    held: Workspace, option: str, place: str
) -> None:
    target, after = take(held), picture(held.root)
    put(held.root, {"a.txt": "changed", "dir/b.txt": "changed", "dir/deep/c": "changed", "new/file": "new"})
    was = picture(held.root)
    before = take(held)
    _leave(held, Restore(ids.make("res"), held.clock.now(), before.id, target.id))
    put(held.root / place, {LEFT: "half"})
    seen = take(held)
    assert not any(is_temporary(os.fsencode(path)) for path in seen.changed)
    Command.run("restore", option, directory=held.root).ok()
    assert picture(held.root) == (after if option == "--continue" else was)


def test_only_names_that_are_unmistakably_ours_are_left_out(held: Workspace) -> None:
    names = [".holdfast-restore-", ".holdfast-restore-0123456789aX", "x" + LEFT, LEFT + "0", ".holdfast-0123456789ab"]
    put(held.root, {**dict.fromkeys(names, "theirs"), LEFT: "ours", f"dir/{LEFT}": "ours"})
    assert sorted(take(held).changed) == sorted(names)


def test_what_somebody_wrote_after_the_kill_is_in_a_checkpoint_before_it_is_overwritten(held: Workspace) -> None:
    for act, kept in ((holdfast.continue_restore, "for the first time"), (holdfast.undo_restore, "once more")):
        project, _, _ = _unfinished(held)
        put(project.root, {"dir/b.txt": kept})
        act(project)
        assert (project.root / "dir/b.txt").read_text() != kept
        (made,) = [
            found for found in holdfast.checkpoints(project, safety=True).checkpoints if found.kind == "before-continue"
        ][:1]
        back(project, made, "dir/b.txt")
        assert (project.root / "dir/b.txt").read_text() == kept


@pytest.mark.parametrize("act", [holdfast.continue_restore, holdfast.undo_restore])
@pytest.mark.parametrize("edit", ["a mode", "an empty directory"])
def test_permissions_and_empty_directories_made_after_the_kill_are_in_a_checkpoint_too(
    held: Workspace, act: Callable[[Workspace], object], edit: str
) -> None:
    _unfinished(held)
    (held.root / "dir/deep/c").chmod(0o600) if edit == "a mode" else (held.root / "made/since").mkdir(parents=True)
    before = picture(held.root)
    act(held)
    assert picture(held.root) != before
    (made,) = [
        found for found in holdfast.checkpoints(held, safety=True).checkpoints if found.kind == "before-continue"
    ]
    back(held, made)
    assert picture(held.root) == before


def test_directories_that_a_killed_restore_emptied_or_made_are_nothing_new(held: Workspace) -> None:
    project, _, _ = _unfinished(held)
    (project.root / "new/file").unlink()
    (project.root / "dir/deep/c").unlink()
    count = len(holdfast.checkpoints(project, safety=True).checkpoints)
    holdfast.continue_restore(project)
    assert len(holdfast.checkpoints(project, safety=True).checkpoints) == count


def test_a_mixture_that_holds_nothing_new_makes_no_further_checkpoint(held: Workspace) -> None:
    project, _, _ = _unfinished(held)
    put(project.root, {"a.txt": "one\n"})
    count = len(holdfast.checkpoints(project, safety=True).checkpoints)
    holdfast.continue_restore(project)
    assert len(holdfast.checkpoints(project, safety=True).checkpoints) == count


def test_a_path_restore_that_was_killed_is_taken_back_with_the_file_that_made_way(held: Workspace) -> None:
    target = take(held)
    shutil.rmtree(held.root / "dir")
    put(held.root, {"dir": "precious"})
    before = take(held)
    wanted = Restore(ids.make("res"), held.clock.now(), before.id, target.id, paths=["dir/b.txt"], cleared=["dir"])
    _leave(held, wanted)
    (held.root / "dir").unlink()
    put(held.root, {"dir/b.txt": "two\n"})
    holdfast.undo_restore(held)
    assert (held.root / "dir").read_text() == "precious"


def test_status_in_json_names_the_unfinished_restore(held: Workspace) -> None:
    _, target, _ = _unfinished(held)
    for verb in ("status", "checkpoints"):
        done = Command.run(verb, "--json", directory=held.root).ok()
        assert done.json["unfinished"]["target"] == target.id


def test_a_pipe_in_the_way_is_moved_aside(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x"})
    take(held)
    (held.root / "a.txt").unlink()
    os.mkfifo(held.root / "a.txt")
    back(held, made)
    assert (held.root / "a.txt").read_text() == "one\n"
    assert [path.is_fifo() for path in (held.place / "aside").glob("*/a.txt")] == [True]


def test_a_checkpoint_whose_file_is_missing_says_so_and_can_be_taken_back(held: Workspace) -> None:
    put(held.root, {"only": "in the checkpoint\n"})
    made, kept = take(held), (held.root / "only").read_bytes()
    (held.root / "only").unlink()
    put(held.root, {"a.txt": "x"})
    now = take(held)
    _lose(held, kept)
    held.close()
    with pytest.raises(Damaged, match="A restore was interrupted") as caught:
        back(held, made)
    assert "missing" in dict(caught.value.facts)["because"]
    assert "`holdfast restore --undo` takes it back" in caught.value.hints
    holdfast.undo_restore(held)
    assert (held.root / "a.txt").read_text() == "x"
    put(held.root, {"only": kept})
    assert holdfast.checkpoint(held).checkpoint.number > now.number


def _lose(held: Workspace, data: bytes) -> None:
    """Write all packs of ours anew, without one blob."""
    wanted = _name_of(held.root, data)
    pack = held.root / ".git/objects/pack"
    for keep in list(pack.glob("pack-*.keep")):
        names = _names_in(keep.with_suffix(".idx"))
        if wanted in names:
            _repack(held.root, keep, [name for name in names if name != wanted])


def _name_of(root: Path, data: bytes) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), "hash-object", "--stdin"], input=data, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def _names_in(index: Path) -> list[str]:
    done = subprocess.run(["git", "show-index"], input=index.read_bytes(), capture_output=True, check=True)
    return [line.split()[1] for line in done.stdout.decode().splitlines()]


def _repack(root: Path, keep: Path, names: list[str]) -> None:
    listed = "".join(f"{name}\n" for name in names).encode()
    base = str(keep.parent / "pack")
    command = ["git", "-C", str(root), "pack-objects", "-q", base]
    made = subprocess.run(command, input=listed, capture_output=True, check=True).stdout.decode().strip()
    (keep.parent / f"pack-{made}.keep").write_bytes(b"holdfast\n")
    for suffix in (".idx", ".pack", ".rev", ".keep"):
        keep.with_suffix(suffix).unlink(missing_ok=True)


# What the command says.


def test_each_way_back_says_how_it_is_taken_back(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x"})
    for words, way in ((("restore", made.id), "undo"), (("undo",), "redo"), (("redo",), "undo")):
        assert f"`holdfast {way}` takes it back" in Command.run(*words, directory=held.root).ok().err


def test_nothing_of_the_users_repository_changes_when_paths_go_back(held: Workspace) -> None:
    made = take(held)
    put(held.root, {"a.txt": "x", "dir/b.txt": "x"})
    before = insides(held.root)
    back(held, made, "dir")
    holdfast.undo(held)
    assert insides(held.root) == before
