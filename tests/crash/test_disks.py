"""Real file systems that refuse: full, out of inodes, read-only, with files that nobody may change.

What was there stays and can be read, whoever asks for more is told in a sentence, a hook says nothing, and when there
is room again the same command works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import holdfast
from tests.environments import fill_up, small_disk
from tests.hook_calls import knock
from tests.surfaces.in_process import call

pytestmark = pytest.mark.promise(5)
GOAL = "Keep every byte"
WORDS: list[tuple[str, ...]] = [
    ("note", "text"),
    ("start", "another"),
    ("checkpoint",),
    ("backup", "kept.tar.gz"),
    ("config", "set", "list.limit", "7"),
    ("complete",),
]
NEED_NAMES = WORDS[2:5]  # the others write into files that are there


def a_project(disk: Path) -> Path:
    """A repository with a file, a run with a note, and a checkpoint."""
    root = disk / "project"
    subprocess.run(["git", "init", "-q", "--template=", str(root)], check=True)
    (root / "file").write_text("first\n")
    with holdfast.open(root) as workspace:
        holdfast.start(workspace, GOAL)
        holdfast.note(workspace, "first")
        holdfast.checkpoint(workspace, "first")
    (root / "file").write_text("second\n")
    return root


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own directories are on the disk too."""
    for kind in ("config", "state"):
        monkeypatch.setenv(f"HOLDFAST_{kind.upper()}_DIR", str(tmp_path / "disk" / kind))


def is_refused(root: Path, *words: str) -> None:
    """It fails, and says in a sentence why; nothing is claimed that did not happen."""
    done = call(*words, directory=root)
    assert done.code not in (0, 3), f"{words}: exit {done.code}\n{done.out}{done.err}"
    assert done.err.startswith("holdfast: "), done.err
    assert done.out == ""


def files_in(disk: Path) -> list[Path]:
    """Those that take up room; a lock is an empty file."""
    return sorted(path for path in disk.rglob("*") if path.is_file() and path.stat().st_size)


def is_as_it_was(root: Path) -> None:
    """All that was acknowledged can be read."""
    with holdfast.open(root) as workspace:
        (run,) = holdfast.runs(workspace).runs
        assert (run.goal, [note.text for note in run.notes]) == (GOAL, ["first"])
        assert [made.name for made in holdfast.checkpoints(workspace).checkpoints] == ["first"]
        assert holdfast.verify(workspace, deep=True).problems == []


def goes_on(root: Path) -> None:
    """The same commands work, and lead to where they should."""
    for words in WORDS:
        call(*words, directory=root).ok()
    call("restore", "first", directory=root).ok()
    assert (root / "file").read_text() == "first\n"
    call("verify", "--deep", directory=root).ok()


@contextmanager
def full(root: Path) -> Iterator[None]:
    ballast = fill_up(root.parent)
    yield
    ballast.unlink()


@contextmanager
def without_inodes(root: Path) -> Iterator[None]:
    """There is room, and no name more can be made."""
    ballast = root.parent / "ballast"
    ballast.mkdir()
    try:
        for number in range(1_000_000):
            (ballast / str(number)).touch()
    except OSError:
        pass
    yield
    shutil.rmtree(ballast)


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    disk = str(root.parent)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True, capture_output=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True, capture_output=True)


@contextmanager
def unchangeable(root: Path) -> Iterator[None]:
    """`chattr +i` on the database, its log and the directories in which something new would be."""
    place = root / ".git" / "holdfast"
    paths = [str(path) for path in (place / "journal.db", place / "journal.db-wal", place, place / "inbox", root)]
    found = [path for path in paths if os.path.exists(path)]
    if subprocess.run(["chattr", "+i", *found], capture_output=True, check=False).returncode != 0:
        subprocess.run(["chattr", "-i", *found], capture_output=True, check=False)
        pytest.skip("NOT PROVED: this file system has no files that cannot be changed")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", *found], check=True)


class Trouble(NamedTuple):
    begin: Callable[[Path], AbstractContextManager[None]]
    room: str
    refused: Sequence[tuple[str, ...]]


TROUBLES = {
    "full": Trouble(full, "3m", WORDS),
    "without inodes": Trouble(without_inodes, "30m,nr_inodes=600", NEED_NAMES),
    "read-only": Trouble(read_only, "30m", WORDS),
}


@pytest.mark.parametrize("name", TROUBLES, ids=lambda name: name.replace(" ", "-"))
def test_what_was_acknowledged_stays_and_what_cannot_be_done_is_told(name: str, tmp_path: Path) -> None:
    trouble = TROUBLES[name]
    with small_disk(tmp_path / "disk", trouble.room) as disk:
        root = a_project(disk)
        with trouble.begin(root):
            before = files_in(disk)
            for words in trouble.refused:
                is_refused(root, *words)
            assert files_in(disk) == before, "something was left lying around"
            knock(root, b'{"said": "' + b"x" * 100_000 + b'"}')
        is_as_it_was(root)
        goes_on(root)


def test_files_that_nobody_may_change_are_told_of_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    root = a_project(tmp_path / "disk")
    with unchangeable(root):
        for words in WORDS[:4]:
            is_refused(root, *words)
        knock(root, b'{"said": "something"}')
    is_as_it_was(root)
    goes_on(root)


@pytest.mark.parametrize("size", ["64k", "200k"])
def test_a_store_for_which_there_is_no_room_is_not_made(tmp_path: Path, size: str) -> None:
    """On 64 KB not even the first one fits; what was begun is no store, and a larger disk would have one."""
    with small_disk(tmp_path / "disk", size) as disk:
        (disk / "project").mkdir()
        for _ in range(2):
            is_refused(disk / "project", "start", GOAL)
            knock(disk / "project")
        subprocess.run(["mount", "-o", "remount,size=30m", str(disk)], check=True, capture_output=True)
        call("start", GOAL, directory=disk / "project").ok()
        call("verify", "--deep", directory=disk / "project").ok()
