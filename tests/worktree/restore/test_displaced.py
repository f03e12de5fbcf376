"""What a restore moved aside: it comes back whole, whatever was killed in between, and wherever the store lies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.worktree.restore.writer import WorktreeWriter, list_attempts, remove_displaced

pytestmark = pytest.mark.promise(2, 9)

PRECIOUS = b"ignored, and in no checkpoint".ljust(100, b".")
FURTHER = Path("/dev/shm")  # another file system, where there is one
TORN = """
import os, shutil, signal, sys
from pathlib import Path
from holdfast.worktree.restore.writer import WorktreeWriter

def tear(source, target, **options):
    with open(source, "rb") as one, open(target, "wb") as other:
        other.write(one.read()[:40])
    os.kill(os.getpid(), signal.SIGKILL)

shutil.copy2 = tear
shutil.copytree.__defaults__ = (False, None, tear, False, False)
root, held = map(Path, sys.argv[1:])
WorktreeWriter(root, held).write(b"dir", b"a file of the checkpoint", 0o644)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "worktree").mkdir()
    return tmp_path / "worktree"


@pytest.fixture
def further(tmp_path: Path) -> Iterator[Path]:
    """A store on another file system than the worktree."""
    if not FURTHER.is_dir() or FURTHER.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other file system at hand")
    place = Path(tempfile.mkdtemp(dir=FURTHER))
    yield place
    shutil.rmtree(place)


def put(place: Path, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)


def files_in(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def bring_back(root: Path, held: Path) -> list[str]:
    """As `undo` does it, to the end."""
    putting = WorktreeWriter(root, held.with_name("undo"))
    putting.bring_back(list_attempts(held), lambda path, place: False)
    putting.settle()
    remove_displaced(putting.done.returned.values(), held.parent)
    return putting.done.brought_back


def test_what_a_later_attempt_moved_aside_comes_back_although_the_first_has_nothing_left(
    root: Path, tmp_path: Path
) -> None:
    put(tmp_path / "aside/res-2", {"d/x": PRECIOUS})
    put(tmp_path / "aside/res-10", {"e/y": PRECIOUS})
    assert bring_back(root, tmp_path / "aside/res") == ["e", "d"]
    assert files_in(root) == {"d/x": PRECIOUS, "e/y": PRECIOUS}
    assert list((tmp_path / "aside").iterdir()) == []


def test_of_two_that_lie_aside_the_newer_comes_back_and_the_older_stays(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "aside", {"res/d/x": b"older", "res/d/z": b"only", "res-2/d/x": b"newer", "res-other/d/x": b"other"})
    bring_back(root, tmp_path / "aside/res")
    assert files_in(root) == {"d/x": b"newer", "d/z": b"only"}
    assert files_in(tmp_path / "aside") == {"res/d/x": b"older", "res-other/d/x": b"other"}


def test_what_lies_below_something_else_that_lies_aside_has_room(root: Path, tmp_path: Path) -> None:
    held = tmp_path / "aside/res"
    put(root, {"d/x": b"first", "d/y": b"second"})
    putting = WorktreeWriter(root, held)
    putting._move_aside(b"d/x")
    putting._move_aside(b"d")
    put(root, {"d/x": b"third"})
    putting._move_aside(b"d/x")
    assert len(files_in(held.parent)) == 3
    bring_back(root, held)
    assert files_in(root) == {"d/x": b"third", "d/y": b"second"}


@pytest.mark.promise(23)
def test_a_link_that_lies_aside_leads_nothing_out_of_the_store(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside", {"y": b"theirs"})
    (root / "d").symlink_to(tmp_path / "outside")
    putting = WorktreeWriter(root, tmp_path / "aside/res")
    putting._move_aside(b"d")
    put(root, {"d/x": PRECIOUS})
    putting._move_aside(b"d/x")
    assert files_in(tmp_path / "outside") == {"y": b"theirs"}
    assert (tmp_path / "aside/res-2/d/x").read_bytes() == PRECIOUS


@pytest.mark.parametrize("content", [{"dir/big": PRECIOUS, "dir/deep/x": b"x"}, {"dir": PRECIOUS}])
def test_it_comes_back_from_another_file_system(root: Path, further: Path, content: dict[str, bytes]) -> None:
    put(root, content)
    (root / "link").symlink_to("nowhere")
    putting = WorktreeWriter(root, further / "res")
    putting._move_aside(b"dir")
    putting._move_aside(b"link")
    assert files_in(root) == {}
    bring_back(root, further / "res")
    assert files_in(root) == content
    assert os.readlink(root / "link") == "nowhere"
    assert list(further.iterdir()) == []


def test_a_copy_that_a_kill_tore_is_not_what_comes_back(root: Path, further: Path) -> None:
    held = further / "res"
    put(root, {"dir/big": PRECIOUS})
    done = subprocess.run([sys.executable, "-c", TORN, str(root), str(held)], check=False)
    assert done.returncode == -signal.SIGKILL
    putting = WorktreeWriter(root, held)
    putting.clear_leftovers([b"dir"])
    putting.write(b"dir", b"a file of the checkpoint", 0o644)
    (root / "dir").unlink()
    bring_back(root, held)
    assert files_in(root) == {"dir/big": PRECIOUS}


def test_a_torn_copy_of_an_older_version_is_not_what_comes_back(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "aside", {"res/dir/big": PRECIOUS[:40], "res-2/dir/big": PRECIOUS})
    bring_back(root, tmp_path / "aside/res")
    assert files_in(root) == {"dir/big": PRECIOUS}


def test_what_comes_back_lies_aside_until_all_is_done(root: Path, tmp_path: Path) -> None:
    """A kill after it came back would otherwise leave nothing that says so, and the next attempt would remove it."""
    held = tmp_path / "aside/res"
    put(held, {"x": PRECIOUS})
    for _ in range(2):
        WorktreeWriter(root, held.with_name("undo")).bring_back(list_attempts(held), lambda path, place: False)
        assert files_in(root) == files_in(held) == {"x": PRECIOUS}
    assert bring_back(root, held) == ["x"]
    assert files_in(tmp_path / "aside") == {}
