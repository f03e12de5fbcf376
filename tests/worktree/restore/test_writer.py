"""Writing into a worktree: whatever path a checkpoint names, nothing outside of it changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.core.errors import Refused
from holdfast.worktree.restore import writer as module
from holdfast.worktree.restore.writer import FEW, WorktreeWriter

pytestmark = pytest.mark.promise(9, 23)

ACTS: dict[str, Callable[[WorktreeWriter, bytes], object]] = {
    "write": lambda putting, path: putting.write(path, b"evil", 0o644),
    "link": lambda putting, path: putting.write(path, b"evil", None),
    "remove": WorktreeWriter.remove,
    "mode": lambda putting, path: putting.set_mode(path, 0o777),
    "directory": WorktreeWriter.make_directory,
}
BY_ACT = pytest.mark.parametrize("act", ACTS)
OUTSIDE = [b"../outside/one", b"a/../../outside/one", b"/outside", b"a//b", b"./a", b".git/config", b".holdfast/x", b""]


@pytest.fixture
def putting(tmp_path: Path) -> WorktreeWriter:
    """A worktree beside a directory that is none of its business."""
    for name in ("worktree/.git", "aside", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "outside/one").write_text("theirs")
    (tmp_path / "worktree/.git/config").write_text("theirs")
    return WorktreeWriter(tmp_path / "worktree", tmp_path / "aside")


def picture(directory: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): (path.stat().st_mode, path.read_bytes()) for path in files}


@BY_ACT
@pytest.mark.parametrize("path", OUTSIDE, ids=os.fsdecode)
def test_a_path_that_is_not_inside_is_refused_and_nothing_changes(
    act: str, path: bytes, putting: WorktreeWriter, tmp_path: Path
) -> None:
    before = picture(tmp_path)
    with pytest.raises(Refused, match="not inside the worktree"):
        ACTS[act](putting, path)
    assert picture(tmp_path) == before


@BY_ACT
def test_no_link_leads_out_of_the_worktree(act: str, putting: WorktreeWriter, tmp_path: Path) -> None:
    (tmp_path / "worktree/way").symlink_to(tmp_path / "outside")
    before = picture(tmp_path / "outside")
    ACTS[act](putting, b"way/one")
    assert picture(tmp_path / "outside") == before


def test_removals_in_many_directories_are_brought_to_the_disk_by_one_sync(
    putting: WorktreeWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync of each directory takes half a minute for ten thousand files."""
    synced = list[bytes]()
    monkeypatch.setattr(module, "sync", synced.append)
    monkeypatch.setattr(module, "sync_file_system", synced.append)
    for number in range(FEW + 1):
        for name in ("goes", "stays"):
            path = tmp_path / f"worktree/{number}/{name}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(name)
        putting.remove(b"%d/goes" % number)
    putting.settle()
    assert len(synced) == 1
