"""Space that comes back: in repositories of every kind, and as much as people complain about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.packs.prune import stored_bytes
from tests.conftest import TickingClock
from tests.packs import packs, pruned
from tests.worktrees import back, commit, git, insides, put, said_by_git, take

ONLY = "the only copy\n"


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n", "dir/b.txt": "two\n"})
    commit(project.root)
    return project


# Repositories of other kinds.


def cloned(held: Workspace, target: Path, *options: str) -> Path:
    git(held.root, "config", "uploadpack.allowFilter", "true")
    for number in range(3):
        put(held.root, {f"file{number}": f"{number}\n" * 100})
        commit(held.root)
        (held.root / f"file{number}").unlink()
    commit(held.root)
    git(held.root, "clone", "-q", *options, f"file://{held.root}", str(target))
    return target


@pytest.mark.parametrize("option", ["--depth=2", "--filter=blob:none", "--filter=tree:0"])
def test_shallow_and_partial_clones_give_space_back_too(
    held: Workspace, tmp_path: Path, clock: TickingClock, option: str
) -> None:
    root = cloned(held, tmp_path / "clone", option)
    with holdfast.open(root, clock=clock) as clone:
        holdfast.init(clone)
        put(root, {"x": os.urandom(50_000)})
        take(clone)
        put(root, {"x": "changed\n"})
        made = take(clone)
        assert holdfast.tidy(clone, most=1).freed > 40_000
        put(root, {"x": "again\n"})
        back(clone, made)
        assert (root / "x").read_text() == "changed\n"
        assert holdfast.verify(clone, deep=True).problems == []


def test_a_project_without_a_repository_gives_space_back(tmp_path: Path, clock: TickingClock) -> None:
    (tmp_path / "plain").mkdir()
    with holdfast.open(tmp_path / "plain", clock=clock) as plain:
        put(plain.root, {"x": os.urandom(50_000)})
        take(plain)
        put(plain.root, {"x": "changed\n"})
        take(plain)
        assert holdfast.tidy(plain, most=1).freed > 40_000
        assert holdfast.verify(plain, deep=True).problems == []


def test_a_repository_with_long_names_gives_space_back(tmp_path: Path, clock: TickingClock) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "long")
    with holdfast.open(tmp_path / "long", clock=clock) as long:
        put(long.root, {"x": os.urandom(50_000)})
        take(long)
        put(long.root, {"x": "changed\n"})
        take(long)
        assert holdfast.tidy(long, most=1).freed > 40_000
        assert holdfast.verify(long, deep=True).problems == []


# Disk space, as people complain about it.


def test_hundreds_of_gb_on_disk_are_given_back(held: Workspace, clock: TickingClock) -> None:
    """A report about another tool: a large file that changes all the time, and nothing is ever removed."""
    size = 400_000
    for number in range(30):
        put(held.root, {"large": os.urandom(size), "small": f"{number}\n"})
        made = take(held)
    full = sum(pack.stat().st_size for pack in packs(held))
    assert full > 30 * size
    before = insides(held.root), said_by_git(held.root)
    done = holdfast.tidy(held, most=3)
    assert done.freed > 26 * size
    assert done.stored < 3.2 * size
    assert (insides(held.root), said_by_git(held.root)) == before
    large = (held.root / "large").read_bytes()
    (held.root / "large").unlink()
    back(held, made)
    assert (held.root / "large").read_bytes() == large


def test_tidying_twice_rewrites_nothing_the_second_time(held: Workspace) -> None:
    for number in range(4):
        put(held.root, {"x": f"{number}\n"})
        take(held)
    holdfast.tidy(held, most=2)
    before = {path: path.stat().st_ino for path in packs(held)}
    assert pruned(held).rewritten == 0
    assert {path: path.stat().st_ino for path in packs(held)} == before


def test_nothing_but_packs_of_ours_is_left_in_the_repository(held: Workspace) -> None:
    put(held.root, {"x": "1\n"})
    take(held)
    before = insides(held.root)
    put(held.root, {"x": "2\n"})
    take(held)
    holdfast.tidy(held, most=1)
    assert insides(held.root) == before
    assert list((held.root / ".git").rglob("tmp_*")) == []


def stored(workspace: Workspace) -> int:
    with shadow_of(workspace) as shadow:
        return stored_bytes(shadow.object_store)


def every_object(root: Path) -> Iterator[Path]:
    return (path for path in (root / ".git/objects").rglob("*") if path.is_file())


def test_what_is_stored_is_told_by_the_sizes_of_our_packs(held: Workspace) -> None:
    assert stored(held) == 0
    put(held.root, {"x": os.urandom(50_000)})
    loose = sum(path.stat().st_size for path in every_object(held.root))
    take(held)
    assert (
        stored(held) == sum(path.stat().st_size for path in every_object(held.root) if path.suffix != ".keep") - loose
    )


def test_everything_is_copied_with_a_plain_copy_of_the_repository(held: Workspace, tmp_path: Path) -> None:
    """Dates of packs get lost in a copy; nothing else does."""
    put(held.root, {"x": ONLY})
    take(held)
    shutil.copytree(held.root, tmp_path / "copy", copy_function=shutil.copyfile)
    git(tmp_path / "copy", "fsck", "--full")
