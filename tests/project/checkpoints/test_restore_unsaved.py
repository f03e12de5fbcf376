"""What no checkpoint holds when a restore comes by: it is never overwritten, and undo brings it back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Checkpoint
from holdfast.project.checkpoints import restore
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree import scan_directories
from holdfast.worktree.restore import plan
from holdfast.worktree.restore.writer import FEW
from tests.tools import Command
from tests.worktrees import back, commit, picture, put, take

pytestmark = pytest.mark.promise(9)

MANY = FEW + 8
PRECIOUS = "precious, and in no checkpoint"


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n", "dir/b.txt": "two\n", **{f"many/{n}": "once" for n in range(MANY)}})
    commit(project.root)
    return project


def aside(held: Workspace) -> list[str]:
    return sorted(path.read_text() for path in (held.place / "aside").rglob("*") if path.is_file())


# Ignored since, and forgotten by what a look remembers.


def forgotten(held: Workspace) -> Checkpoint:
    """A checkpoint with a file that is ignored now, and that no look at the worktree meets any more."""
    put(held.root, {"local.cfg": "of monday"})
    made = take(held)
    put(held.root, {".gitignore": "local.cfg\n", "local.cfg": PRECIOUS})
    with shadow_of(held) as shadow:
        shadow.forget()
    return made


@pytest.mark.parametrize("changed", [1, MANY], ids=["few", "many"])
def test_an_ignored_file_where_a_kept_one_was_is_moved_aside_and_comes_back_with_undo(
    held: Workspace, changed: int
) -> None:
    made = forgotten(held)
    put(held.root, {f"many/{number}": "twice" for number in range(changed)})
    before = picture(held.root)
    done = back(held, made)
    assert (held.root / "local.cfg").read_text() == "of monday"
    assert list(done.moved_aside) == ["local.cfg"]
    assert holdfast.undo(held).brought_back == ["local.cfg"]
    assert picture(held.root) == before
    assert aside(held) == []
    holdfast.redo(held)
    assert (held.root / "local.cfg").read_text() == "of monday"
    holdfast.undo(held)
    assert picture(held.root) == before


def test_an_ignored_file_that_holds_the_same_as_the_kept_one_comes_back_with_undo_too(held: Workspace) -> None:
    made = forgotten(held)
    put(held.root, {"local.cfg": "of monday"})
    before = picture(held.root)
    back(held, made)
    holdfast.undo(held)
    assert picture(held.root) == before


# Too large now.


@pytest.fixture
def narrow(held: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Files of more than a megabyte are not kept."""
    monkeypatch.setenv("HOLDFAST_CHECKPOINT_FILE_LIMIT", "1")
    return holdfast.open(held.root, clock=held.clock)


@pytest.mark.parametrize("paths", [(), ("a.txt",)], ids=["all", "named"])
def test_a_file_that_has_become_too_large_goes_back_and_comes_back_with_undo(
    narrow: Workspace, paths: tuple[str, ...]
) -> None:
    made = take(narrow)
    put(narrow.root, {"a.txt": "x" * 2_000_000, "dir/b.txt": "changed"})
    before = picture(narrow.root)
    done = back(narrow, made, *paths)
    assert (narrow.root / "a.txt").read_text() == "one\n"
    assert (list(done.moved_aside), done.left) == (["a.txt"], {})
    assert back(narrow, made, *paths).restore is None
    undone = holdfast.undo(narrow)
    assert (undone.brought_back, undone.left) == (["a.txt"], {})
    assert picture(narrow.root) == before
    holdfast.redo(narrow)
    assert (narrow.root / "a.txt").read_text() == "one\n"


def test_more_than_one_look_reads_goes_back_too(held: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_CHECKPOINT_TOTAL_LIMIT", "1")
    monkeypatch.setattr(scan_directories, "TICK", 0)  # or a file that was just written is read again by the next look
    narrow = holdfast.open(held.root, clock=held.clock)
    names = [f"large/{number}" for number in range(4)]
    for name in names:  # one by one, as one look does not read them all
        put(held.root, {name: name * 60_000})
        made = take(narrow)
    put(held.root, dict.fromkeys(names, "changed"))
    back(narrow, made)
    assert [(held.root / name).read_text() == name * 60_000 for name in names] == [True] * 4
    holdfast.undo(narrow)
    assert [(held.root / name).read_text() for name in names] == ["changed"] * 4


# Saved after the look.


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen once, after a restore has looked and before it writes."""

    def let(act: Callable[[], object]) -> None:
        real = plan.apply_plan

        def late(*arguments: object, **options: object) -> object:
            monkeypatch.setattr(restore, "apply_plan", real)
            act()
            return real(*arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(restore, "apply_plan", late)

    return let


def renamed_over(path: Path, text: str) -> None:
    path.with_name("saving~").write_text(text)
    path.with_name("saving~").rename(path)


SAVING: dict[str, Callable[[Path, str], object]] = {"in place": Path.write_text, "by renaming": renamed_over}


@pytest.mark.parametrize("changed", [1, MANY], ids=["few", "many"])
@pytest.mark.parametrize("how", SAVING)
def test_what_is_saved_after_the_look_is_moved_aside_told_and_comes_back_with_undo(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None], how: str, changed: int
) -> None:
    made, now = take(held), {f"many/{number}": "twice" for number in range(changed)}
    put(held.root, {"a.txt": "changed", "new": "new", **now})

    def save() -> None:
        for name in ("a.txt", "new", "many/0"):
            SAVING[how](held.root / name, f"saved {name}")

    meanwhile(save)
    done = back(held, made)
    assert sorted(done.moved_aside) == ["a.txt", "many/0", "new"]
    assert (held.root / "a.txt").read_text() == "one\n"
    assert not (held.root / "new").exists()
    undone = holdfast.undo(held)
    assert sorted(undone.brought_back) == ["a.txt", "many/0", "new"]
    assert [(held.root / name).read_text() for name in ("a.txt", "new")] == ["saved a.txt", "saved new"]
    assert aside(held) == []
    holdfast.redo(held)
    assert (held.root / "a.txt").read_text() == "one\n"
    holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "saved a.txt"


def test_a_file_that_comes_to_be_after_the_look_is_not_overwritten(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    made = take(held)
    shutil.rmtree(held.root / "dir")
    meanwhile(lambda: put(held.root, {"dir/b.txt": "saved"}))
    back(held, made)
    assert (held.root / "dir/b.txt").read_text() == "two\n"
    holdfast.undo(held)
    assert (held.root / "dir/b.txt").read_text() == "saved"


def test_a_directory_that_comes_to_be_after_the_look_is_not_lost(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    made = take(held)
    (held.root / "a.txt").unlink()
    meanwhile(lambda: put(held.root, {"a.txt/inside": "saved"}))
    back(held, made)
    assert (held.root / "a.txt").read_text() == "one\n"
    holdfast.undo(held)
    assert (held.root / "a.txt/inside").read_text() == "saved"


def test_what_was_only_touched_after_the_look_is_not_moved_aside(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    made = take(held)
    put(held.root, {"a.txt": "changed", "new": "new"})

    def touch() -> None:
        for name in ("a.txt", "new"):
            (held.root / name).touch()

    meanwhile(touch)
    assert back(held, made).moved_aside == {}


def test_permissions_that_are_set_after_the_look_come_back_with_undo(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    made = take(held)
    put(held.root, {"a.txt": "changed"})
    meanwhile(lambda: (held.root / "a.txt").chmod(0o600))
    back(held, made)
    holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "changed"
    assert (held.root / "a.txt").stat().st_mode & 0o777 == 0o600


def test_what_was_saved_after_the_look_is_there_again_when_a_killed_undo_is_finished(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had come back, and nothing said that the checkpoint is older than that."""
    made = take(held)
    put(held.root, {"a.txt": "changed"})
    meanwhile(lambda: put(held.root, {"a.txt": "saved"}))
    back(held, made)
    with monkeypatch.context() as patched:
        patched.setattr(restore.RestoreRun, "end", lambda way: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(holdfast.HoldfastError, match="interrupted"):
            holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "saved"
    holdfast.continue_restore(held)
    assert (held.root / "a.txt").read_text() == "saved"
    assert aside(held) == []


def test_what_was_saved_after_the_look_is_there_again_when_the_restore_is_taken_back(
    held: Workspace, meanwhile: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = take(held)
    put(held.root, {"a.txt": "changed"})
    meanwhile(lambda: put(held.root, {"a.txt": "saved"}))
    with monkeypatch.context() as patched:
        patched.setattr(restore.RestoreRun, "end", lambda way: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(holdfast.HoldfastError, match="interrupted"):
            back(held, made)
    holdfast.undo_restore(held)
    assert (held.root / "a.txt").read_text() == "saved"


def test_what_was_made_since_where_something_lies_aside_for_stays_and_so_does_that(held: Workspace) -> None:
    made = forgotten(held)
    back(held, made)
    put(held.root, {".git/info/exclude": "local.cfg\n", "local.cfg": "made since"})
    with shadow_of(held) as shadow:
        shadow.forget()
    holdfast.undo(held)
    assert (held.root / "local.cfg").read_text() == "made since"
    assert aside(held) == [PRECIOUS]


def test_the_command_names_what_it_moved_aside(held: Workspace) -> None:
    made = forgotten(held)
    done = Command.run("restore", made.id, directory=held.root).ok()
    assert "Was in the way: local.cfg" in done.err
    assert "Is in its place again: local.cfg" in Command.run("undo", directory=held.root).ok().err
