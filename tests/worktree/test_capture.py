"""The shadow of a worktree and the object_store of its checkpoints: caches that may be lost, objects that may not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.packs.object_store import MERGED
from holdfast.worktree.packs.prune import merge
from tests.worktrees import back, commit, git, insides, locks, picture, put, said_by_git, take, tree_by_git

HELD: dict[str, str | bytes] = {"a.txt": "one\n", "dir/b.txt": "two\n", "dir/deep/c.txt": "three\n"}


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, HELD)
    commit(project.root)
    return project


def packs_of(workspace: Workspace) -> int:
    return len(list((workspace.root / ".git/objects/pack").glob("*.keep")))


# The object_store.


def test_hundreds_of_gb_on_disk(held: Workspace) -> None:
    """A report about another tool. Two hundred checkpoints leave a few packs, nothing loose, and every state."""
    take(held)
    loose = sorted((held.root / ".git/objects").glob("??/*"))
    with shadow_of(held) as shadow:
        object_store = shadow.object_store
        for number in range(2, 202):
            object_store.keep(number, {b"beside": object_store.blob(b"%d\n" % number * 500)})
            merge(shadow)
        assert object_store.numbers() == set(range(1, 202))
    assert packs_of(held) < MERGED
    assert sorted((held.root / ".git/objects").glob("??/*")) == loose
    packed = sum(path.stat().st_size for path in (held.root / ".git/objects/pack").iterdir())
    assert packed < 300_000
    kept = git(held.root, "ls-tree", "-r", "--name-only", "refs/holdfast/main")
    assert kept.count("beside") == 201
    git(held.root, "fsck", "--full", "--strict")


@pytest.mark.promise(11)
def test_the_users_garbage_collection_keeps_every_checkpoint(held: Workspace) -> None:
    made = []
    for number in range(MERGED + 5):
        put(held.root, {"a.txt": f"{number}\n", f"new{number}": f"{number}"})
        made.append(holdfast.checkpoint(held, files=("a.txt", f"new{number}")).checkpoint)
    git(held.root, "reflog", "expire", "--expire=now", "--all")
    git(held.root, "gc", "--prune=now", "-q")
    git(held.root, "repack", "-adkq")
    git(held.root, "prune", "--expire=now")
    git(held.root, "pack-refs", "--all")
    for number in (0, 20, MERGED + 4):
        back(held, made[number])
        assert (held.root / "a.txt").read_text() == f"{number}\n"
    git(held.root, "fsck", "--full")


@pytest.mark.promise(11)
def test_a_checkpoint_of_a_branch_that_was_deleted_can_be_gone_back_to(held: Workspace) -> None:
    main = git(held.root, "symbolic-ref", "--short", "HEAD")
    git(held.root, "checkout", "-q", "-b", "topic")
    put(held.root, {"topic": "only in this branch", "dir/b.txt": "topic"})
    commit(held.root)
    made, before = take(held), picture(held.root)
    git(held.root, "checkout", "-q", main)
    git(held.root, "branch", "-q", "-D", "topic")
    git(held.root, "reflog", "expire", "--expire=now", "--all")
    git(held.root, "gc", "--prune=now", "-q")
    back(held, made)
    assert picture(held.root) == before


def test_our_ref_points_at_a_tree_that_nothing_shows(held: Workspace) -> None:
    said = said_by_git(held.root)
    take(held)
    assert git(held.root, "cat-file", "-t", "refs/holdfast/main") == "tree"
    assert said_by_git(held.root) == said


def test_objects_that_are_there_are_not_written_again(held: Workspace) -> None:
    take(held)
    git(held.root, "gc", "-q")
    before = set((held.root / ".git/objects/pack").glob("*.pack"))
    put(held.root, {"a.txt": "two\n"})  # a content that is there already
    take(held)
    new = set((held.root / ".git/objects/pack").glob("*.pack")) - before
    kinds = [git(held.root, "verify-pack", "-v", str(path)) for path in new]
    assert not any(
        " blob " in line and "beside" not in line and _is_content(held, line)
        for text in kinds
        for line in text.splitlines()
    )


def _is_content(workspace: Workspace, line: str) -> bool:
    data = git(workspace.root, "cat-file", "blob", line.split()[0])
    return data in ("one", "two", "three")


def test_checkpoints_stand_on_their_shelves_until_they_are_dropped(held: Workspace) -> None:
    numbers = {take(held).number for _ in range(3)}
    with shadow_of(held) as shadow:
        assert shadow.object_store.numbers() == numbers
        shadow.object_store.keep(99, {b"beside": shadow.object_store.blob(b"")})
        assert shadow.object_store.numbers() == numbers | {99}
        shadow.object_store.drop([99])
        assert shadow.object_store.numbers() == numbers


def test_shelves_hold_any_number(held: Workspace) -> None:
    made = take(held)
    with shadow_of(held) as shadow:
        object_store = shadow.object_store
        for number in (63, 64, 65, 4095, 4096, 10_000, 300_000):
            object_store.keep(number, {b"beside": object_store.blob(b"%d" % number)})
        assert object_store.numbers() == {made.number, 63, 64, 65, 4095, 4096, 10_000, 300_000}
        object_store.drop([number for number in object_store.numbers() if number != made.number])
    git(held.root, "fsck", "--full", "--strict")


# Caches that may be lost or damaged.


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


LOSSES: dict[str, Callable[[Path], object]] = {
    "memory lost": lambda place: next(place.glob("worktrees/*/memory")).unlink(),
    "memory cut": lambda place: cut(next(place.glob("worktrees/*/memory"))),
    "memory nonsense": lambda place: next(place.glob("worktrees/*/memory")).write_bytes(b"\xc1\xff"),
    "index lost": lambda place: next(place.glob("worktrees/*/index")).unlink(),
    "all lost": lambda place: shutil.rmtree(place / "worktrees"),
    "private directory lost": lambda place: shutil.rmtree(place / "git"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_was_remembered_may_be_lost(held: Workspace, loss: str) -> None:
    put(held.root, {"untracked": "x"})
    first, before = take(held), picture(held.root)
    LOSSES[loss](held.place)
    put(held.root, {"a.txt": "changed", "new": "new"})
    assert take(held).tree == tree_by_git(held.root)
    back(held, first)
    assert picture(held.root) == before


def test_a_private_index_that_was_damaged_is_made_anew(held: Workspace) -> None:
    take(held)
    cut(next(held.place.glob("worktrees/*/index")))
    put(held.root, {"a.txt": "changed"})
    assert take(held).tree == tree_by_git(held.root)


def test_a_scratch_directory_left_behind_by_a_kill_is_no_trouble(held: Workspace) -> None:
    take(held)
    (scratch,) = (path / "scratch" for path in held.place.glob("worktrees/*"))
    put(scratch, {"aa/bb": "left"})
    put(held.root, {"a.txt": "changed"})
    git(held.root, "add", "a.txt")
    assert take(held).tree == tree_by_git(held.root)
    assert not scratch.exists()


def test_many_changes_are_folded_into_the_private_index(held: Workspace) -> None:
    put(held.root, {f"many/{number // 100}/{number}": f"{number}" for number in range(2_100)})
    before = insides(held.root)
    first = take(held)
    assert first.tree == tree_by_git(held.root)
    assert (take(held).tree, take(held).changes) == (first.tree, 0)
    shutil.rmtree(held.root / "many/3")
    put(held.root, {"many/4/400": "x"})
    second = take(held)
    assert (second.tree, second.changes) == (tree_by_git(held.root), 101)
    back(held, first)
    assert tree_by_git(held.root) == first.tree
    assert insides(held.root) == before


# What goes on beside us.


def test_whatever_the_user_does_with_git_between_two_checkpoints_is_seen(held: Workspace) -> None:
    root = held.root
    steps: list[Callable[[], object]] = [
        lambda: commit(root),
        lambda: git(root, "checkout", "-q", "-b", "topic"),
        lambda: put(root, {"topic": "t"}),
        lambda: commit(root),
        lambda: git(root, "mv", "a.txt", "moved"),
        lambda: git(root, "stash", "-q"),
        lambda: git(root, "stash", "pop", "-q"),
        lambda: git(root, "reset", "-q", "--hard", "HEAD~1"),
        lambda: git(root, "rm", "-q", "dir/b.txt"),
        lambda: git(root, "read-tree", "--empty"),
        lambda: git(root, "reset", "-q", "--hard"),
        lambda: git(root, "gc", "-q"),
        lambda: (root / ".git/index").unlink(),
    ]
    for number, step in enumerate(steps):
        step()
        assert take(held).tree == tree_by_git(root), number
    assert list(locks(root)) == []


def test_what_stands_beside_a_tree_is_read_as_it_was_written() -> None:
    names = [b"plain", b"new\nline", b" space ", b"\xff\xfe", b"a b c", b"-"]
    beside = TreeMetadata(dict.fromkeys(names, 0o600), list(names), dict.fromkeys(names, "ab"), dict.fromkeys(names, 7))
    beside.links[b"no commit"] = ""
    found = TreeMetadata.decode(beside.encode())
    assert (found.modes, sorted(found.empty), found.links, found.skipped) == (
        beside.modes, sorted(names), beside.links, beside.skipped,
    )  # fmt: skip
    assert TreeMetadata.decode(b"") == TreeMetadata({}, [], {}, {})


@pytest.mark.parametrize(
    ("mode", "noted"), [(0o644, None), (0o755, None), (0o600, 0o600), (0o444, 0o444), (0o4755, 0o4755)]
)
def test_only_permissions_that_git_does_not_know_are_noted(mode: int, noted: int | None) -> None:
    beside = TreeMetadata({}, [], {}, {})
    beside.note_mode(b"x", 0o100000 | mode)
    assert beside.modes.get(b"x") == noted
    assert beside.mode_of(b"x", bool(mode & 0o100)) == mode


def test_a_checkpoint_reads_no_settings_of_git(held: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home, {".gitconfig": "[core]\n\tautocrlf = true\n\tsafecrlf = true\n[user]\n\tbroken\n"})
    put(held.root, {"crlf": "a\r\nb\r\n"})
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    monkeypatch.setenv("GIT_DIR", os.devnull)
    made = take(held)
    put(held.root, {"crlf": "x"})
    back(held, made)
    assert (held.root / "crlf").read_bytes() == b"a\r\nb\r\n"
