"""Promise 22: a link that is put in the place of something while we look leads us nowhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.agents import jsonl
from holdfast.core.errors import HoldfastError
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.layouts import json_file
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths, shared_files
from tests.file_trees import tree_of
from tests.hostile.swapped_paths import swapped

pytestmark = pytest.mark.promise(22)

TRIES, MANY = 1_000, 10_000
SECRET = '{"secret": "of somebody else"}\n'
each_number = pytest.mark.parametrize("tries", [TRIES, pytest.param(MANY, marks=pytest.mark.long)])


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory that is none of our business, in which everything has the names that we look for."""
    directory = tmp_path / "outside"
    directory.mkdir()
    for name in ("state.json", "a.md", "t.jsonl", "orchestrator-session.json"):
        (directory / name).write_text(SECRET)
    return directory


def raced(path: Path, leads_to: Path, tries: int, act: Callable[[], bytes | None]) -> tuple[int, int]:
    """How often something was read or done, and how often it was refused."""
    done = refused = 0
    with swapped(path, leads_to):
        while done + refused < tries or (not min(done, refused) and done + refused < 100 * tries):
            os.sched_yield()
            try:
                data = act()
            except (HoldfastError, OSError, ValueError, safe_paths.Outside):
                refused += 1
                continue
            assert b"somebody else" not in (data or b"")
            done += 1
    return done, refused


READERS: dict[str, Callable[[Path], bytes | None]] = {
    "file": lambda path: files.read(path),
    "face": lambda path: json_file.read_json(path).data,
    "transcript": lambda path: b"".join(jsonl.copied(path, lambda line: line)),
    "artifact": lambda path: safe_paths.read(safe_paths.resolve(path.parent, path.name).full, 1000)[0],
}


@each_number
@pytest.mark.parametrize("kind", READERS)
def test_a_link_in_the_place_of_a_file_is_never_read_through(
    kind: str, tries: int, tmp_path: Path, outside: Path
) -> None:
    path = tmp_path / "mine" / "state.json"
    path.parent.mkdir()
    path.write_text('{"mine": true}\n')
    done, refused = raced(path, outside / "state.json", tries, lambda: READERS[kind](path))
    assert min(done, refused) > 0, f"read {done}, refused {refused}: nothing was swapped"


@each_number
def test_a_link_in_the_place_of_a_file_is_never_written_through(tries: int, tmp_path: Path, outside: Path) -> None:
    path, before = tmp_path / "mine" / "state.json", tree_of(outside)
    path.parent.mkdir()
    path.write_text('{"mine": true}\n')

    def write() -> bytes | None:
        data = files.read(path) or b""
        assert b"somebody else" not in data
        return shared_files.replace_shared(path, data, b'{"ours": true}\n')

    with contextlib.suppress(FileNotFoundError):
        raced(path, outside / "state.json", tries // 10, write)
    assert tree_of(outside) == before


@each_number
@pytest.mark.parametrize("name", ["docs", "docs/deep"])
def test_a_directory_that_becomes_a_link_lets_no_artifact_in_from_outside(
    name: str, tries: int, project: Workspace, outside: Path
) -> None:
    deep = project.root / "docs/deep"
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("mine\n")
    (outside / "deep").mkdir()
    (outside / "deep/a.md").write_text(SECRET)

    def read() -> bytes:
        return safe_paths.read(safe_paths.resolve(project.root, "docs/deep/a.md").full, 1000)[0]

    done, _ = raced(project.root / name, outside if name == "docs" else outside / "deep", tries, read)
    assert done > 0


def test_neither_a_lock_nor_a_journal_is_made_behind_a_link_in_the_place_of_the_store(
    tmp_path: Path, outside: Path
) -> None:
    """It was a directory when it was looked at."""
    link, before = tmp_path / "store", tree_of(outside)
    link.symlink_to(outside)
    with pytest.raises(HoldfastError), files.lock(link / "lock", 0.1):
        pass
    with pytest.raises(HoldfastError):
        SqliteStore(link / "journal.db").open()
    assert tree_of(outside) == before
