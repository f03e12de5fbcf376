"""Promise 22: a directory above a file that becomes a link while we work leads us nowhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.layouts import json_file
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths, shared_files
from holdfast.worktree.restore.writer import WorktreeWriter
from tests.file_trees import tree_of
from tests.hostile.swapped_paths import swapped
from tests.promises import Figure

pytestmark = pytest.mark.promise(22)

TRIES, MANY = 300, 10_000
MINE, SECRET = b'{"mine": 1}\n', b'{"secret": "of somebody else"}\n'
DEEP = Path("a/b/c/state.json")
CASES = [("a/b", TRIES), *(pytest.param(name, MANY, marks=pytest.mark.long) for name in ("a", "a/b", "a/b/c"))]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A project with a file deep in it."""
    path = tmp_path / "mine" / DEEP
    path.parent.mkdir(parents=True)
    path.write_bytes(MINE)
    return tmp_path / "mine"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """The same tree elsewhere, which is none of our business."""
    path = tmp_path / "outside" / DEEP
    path.parent.mkdir(parents=True)
    path.write_bytes(SECRET)
    return tmp_path / "outside"


def write_a_face(root: Path) -> None:
    face = json_file.read_json(root / DEEP, root=root)
    assert b"somebody else" not in face.data
    json_file.write_json(face, json_file.with_members(face, {"ours": os.urandom(4).hex()}))


def replace(root: Path) -> None:
    before = files.read(root / DEEP, root=root)
    assert b"somebody else" not in (before or b"")
    shared_files.replace_shared(root / DEEP, before, MINE + b" " * (len(before or b"") % 7), root=root)


def make_and_remove(root: Path) -> None:
    place = root / "a/b/c/new/deep"
    files.make_directories(place, root=root)
    files.write(place / "x.json", MINE, root=root)
    files.remove(place / "x.json", root)
    files.move_aside(root / DEEP, "aside", root)


def put(root: Path, *, many: bool = False) -> None:
    putting = WorktreeWriter(root, root.parent / "aside", many=many)
    putting.write(os.fsencode(DEEP), MINE, 0o600)
    putting.write(b"a/b/c/d/new", MINE, 0o644)
    putting.write(b"a/b/link", b"nowhere", None)
    putting.set_mode(os.fsencode(DEEP), 0o640)
    putting.remove(b"a/b/c/d/new")
    putting.make_directory(b"a/b/c/empty")
    putting.drop_directory(b"a/b/c/empty")
    putting.clear_leftovers([os.fsencode(DEEP)])


WRITERS: dict[str, Callable[[Path], None]] = {
    "a face": write_a_face,
    "a shared file": replace,
    "directories": make_and_remove,
    "few restored files": put,
    "many restored files": lambda root: put(root, many=True),
}


@pytest.mark.parametrize(("name", "tries"), CASES)
@pytest.mark.parametrize("kind", WRITERS)
def test_nothing_is_written_or_read_through_a_directory_that_becomes_a_link(
    kind: str, name: str, tries: int, mine: Path, outside: Path, figure: Figure
) -> None:
    before, done, refused = tree_of(outside), 0, 0
    with swapped(mine / name, outside / name):
        while done + refused < tries:
            os.sched_yield()
            try:
                WRITERS[kind](mine)
                done += 1
            except (HoldfastError, OSError):
                refused += 1
    assert tree_of(outside) == before, f"done {done}, refused {refused}"
    assert refused > 0, f"done {done}: nothing was swapped"
    figure("tries with a directory that becomes a link", tries)


def test_without_the_way_along_descriptors_the_same_race_leads_outside(
    mine: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: where only names are looked at, something is written outside, or read from there."""

    @contextlib.contextmanager
    def looked_at(path: Path, root: Path | None) -> Iterator[Path]:
        if root is not None:
            safe_paths.resolve(root, os.path.relpath(path.parent, root))
        yield path

    monkeypatch.setattr(safe_paths, "held", looked_at)
    before, tries = tree_of(outside), 0
    with swapped(mine / "a/b", outside / "a/b"):
        while tree_of(outside) == before and tries < 50 * TRIES:
            tries += 1
            with contextlib.suppress(HoldfastError, OSError, AssertionError):
                replace(mine)
    assert tree_of(outside) != before, f"{tries} tries led nowhere: the race is none"


def twin(project: Workspace, elsewhere: Path, name: str) -> Path:
    """A directory of the project once more, elsewhere, with the secrets of somebody else in every file."""
    copy = elsewhere / name
    shutil.copytree(project.root / name, copy)
    for path in copy.rglob("*.json"):
        told = json.loads(path.read_text())
        path.write_text(json.dumps({**told, "goal": "of somebody else", "topic": "of somebody else"}))
    return copy


@pytest.mark.parametrize(
    ("layout", "name"),
    [("orchestrator", ".claude"), ("go-team", "checkpoints"), ("go-team", "checkpoints/*")],
)
def test_a_verb_writes_no_file_of_a_layout_through_a_directory_that_becomes_a_link(
    layout: str, name: str, project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = holdfast.start(project, "goal", layout=layout).run
    found = next(path for path in project.root.glob(name) if path.is_dir())
    elsewhere = twin(project, tmp_path / "elsewhere", str(found.relative_to(project.root)))
    before = tree_of(elsewhere)
    with swapped(found, elsewhere):
        for number in range(15):
            with contextlib.suppress(HoldfastError):
                holdfast.decide(project, f"decision {number}")
    assert tree_of(elsewhere) == before
    told = holdfast.show(project, run.id)
    assert "somebody else" not in repr(told)


def test_a_checkpoint_holds_nothing_from_outside_and_a_restore_writes_nothing_there(
    project: Workspace, tmp_path: Path
) -> None:
    docs, elsewhere = project.root / "docs", tmp_path / "elsewhere"
    for directory, text in ((docs, "mine\n"), (elsewhere, "of somebody else\n")):
        (directory / "deep").mkdir(parents=True)
        for number in range(20):
            (directory / f"deep/{number}.md").write_text(text)
    holdfast.start(project, "goal")
    first, before = holdfast.checkpoint(project).checkpoint, tree_of(elsewhere)
    with swapped(docs, elsewhere):
        for number in range(6):
            (project.root / "other.md").write_text(f"{number}\n")
            with contextlib.suppress(HoldfastError):
                holdfast.checkpoint(project)
            with contextlib.suppress(HoldfastError):
                holdfast.restore(project, first.id)
    assert tree_of(elsewhere) == before
    theirs = hashlib.sha1(b"blob 17\0of somebody else\n").hexdigest()
    look = ["git", "cat-file", "-e", theirs]
    assert subprocess.run(look, cwd=project.root, stderr=subprocess.DEVNULL, check=False).returncode
