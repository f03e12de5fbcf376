"""Promise 22: a store whose directory is exchanged for a link while it is used is used as it was, or not at all."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.core.errors import Busy, HoldfastError, Refused
from holdfast.journal.sqlite import connection as connecting
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.journal.store import RunQuery
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths
from holdfast.system.files import Held
from tests.file_trees import tree_of
from tests.hostile.swapped_paths import swapped
from tests.promises import Figure
from tests.surfaces.in_process import call

pytestmark = pytest.mark.promise(22)

MANY = 10_000
THEIRS = "of somebody else"


@pytest.fixture
def outside(project: Workspace, tmp_path: Path) -> Path:
    """The store of somebody else, with the id of ours: nothing in it shows that it is not ours, but that it is not."""
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    with holdfast.open(other) as theirs:
        holdfast.start(theirs, THEIRS)
        holdfast.note(theirs, THEIRS)
        outside = shutil.copytree(theirs.place, tmp_path / "outside")
    shutil.copy(project.place / "id", outside / "id")
    return outside


@contextlib.contextmanager
def exchanged(place: Path, leads_to: Path) -> Iterator[None]:
    """While this lasts, a link stands in the place of a directory."""
    away = place.with_name(f"{place.name}-away")
    place.rename(away)
    place.symlink_to(leads_to)
    try:
        yield
    finally:
        place.unlink()
        away.rename(place)


def by_the_library(root: Path, number: int) -> str:
    with holdfast.open(root) as workspace:
        holdfast.note(workspace, f"note {number}")
        return repr(holdfast.show(workspace))


def by_the_command(root: Path, number: int) -> str:
    done = call("note", f"note {number}", directory=root)
    if done.code:
        raise Refused(done.err)
    return call("show", directory=root).out


WAYS: dict[str, Callable[[Path, int], str]] = {"library": by_the_library, "command": by_the_command}


@pytest.mark.parametrize(
    ("way", "tries"),
    [("library", 100), ("command", 40), *(pytest.param(way, MANY, marks=pytest.mark.long) for way in WAYS)],
)
def test_a_store_that_becomes_a_link_is_neither_written_nor_read_through(
    way: str, tries: int, project: Workspace, outside: Path, figure: Figure
) -> None:
    holdfast.start(project, "goal")
    before, done, refused = tree_of(outside), 0, 0
    with swapped(project.place, outside):
        for number in range(tries):
            os.sched_yield()
            try:
                assert THEIRS not in WAYS[way](project.root, number)
                done += 1
            except (HoldfastError, OSError):
                refused += 1
    assert tree_of(outside) == before, f"done {done}, refused {refused}"
    assert min(done, refused) > 0, f"done {done}, refused {refused}: nothing was swapped"
    assert THEIRS not in repr(holdfast.show(project))
    figure("tries with a store that becomes a link", tries)


HOOKS = """
import os, sys
sys.path.insert(0, sys.argv[1])
from holdfast.surfaces.hooks import record
for _ in range(int(sys.argv[2])):
    os.sched_yield()
    record.hook("robot", "Did")
    os.closerange(3, 64)
"""


@pytest.mark.parametrize("tries", [1_000, pytest.param(MANY, marks=pytest.mark.long)])
def test_no_call_is_kept_behind_a_store_that_becomes_a_link(
    tries: int, project: Workspace, outside: Path, figure: Figure
) -> None:
    before = tree_of(outside)
    words = [sys.executable, "-I", "-S", "-c", HOOKS, str(Path(holdfast.__file__).parents[1]), str(tries)]
    with swapped(project.place, outside):
        subprocess.run(words, cwd=project.root, stdin=subprocess.DEVNULL, check=True)
    assert tree_of(outside) == before
    assert 0 < len(os.listdir(project.inbox)) < tries, "nothing was swapped"
    figure("hook calls with a store that becomes a link", tries)


def log_opened_late(place: Path, outside: Path) -> set[str]:
    """The runs in a store that became a link after its database was opened, and before its log was."""
    with contextlib.closing(Held(place)) as held:
        path = held.here / "journal.db"
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=connecting.vfs_for(path))
        try:
            with exchanged(place, outside):
                connection.execute("BEGIN IMMEDIATE")
                runs = {id for (id,) in connection.execute("SELECT id FROM run")}
                connection.execute("ROLLBACK")
        finally:
            connection.close()
    return runs


@pytest.fixture
def without_logs(project: Workspace, outside: Path) -> Path:
    """A store with one run, and one elsewhere: nobody uses them, and neither has a log."""
    holdfast.start(project, "goal")
    store = project.store
    assert isinstance(store, SqliteStore)
    with store.locked():
        assert store.write_back()
    project.close()
    for place in (project.place, outside):
        for name in ("journal.db-wal", "journal.db-shm"):
            (place / name).unlink(missing_ok=True)
    return outside


def test_a_log_is_opened_beside_its_database_whatever_became_of_the_name(
    project: Workspace, without_logs: Path
) -> None:
    before = tree_of(without_logs)
    found = log_opened_late(project.place, without_logs)
    assert tree_of(without_logs) == before
    with project.reading() as journal:
        assert {run.id for run in journal.list_runs(RunQuery())[0]} <= found


def test_sqlite_itself_would_open_the_log_elsewhere(
    project: Workspace, without_logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    monkeypatch.setattr(connecting, "vfs_for", lambda path: None)
    before = tree_of(without_logs)
    with contextlib.suppress(Exception):
        log_opened_late(project.place, without_logs)
    assert tree_of(without_logs) != before


def test_what_was_begun_in_a_store_is_finished_in_it(project: Workspace, outside: Path) -> None:
    run = holdfast.start(project, "goal").run
    before = tree_of(outside)
    with project.writing() as journal, exchanged(project.place, outside):
        assert [found.goal for found in journal.list_runs(RunQuery())[0]] == ["goal"]
        (project.inbox / "seen").touch()
    assert tree_of(outside) == before
    assert os.listdir(project.place / "inbox") == ["seen"]
    assert holdfast.show(project, run.id)


def test_an_open_store_that_has_become_a_link_is_refused_and_works_again_afterwards(
    project: Workspace, outside: Path
) -> None:
    holdfast.start(project, "goal")
    before = tree_of(outside)
    with exchanged(project.place, outside), pytest.raises(Refused, match="not a directory") as refused:
        holdfast.note(project, "note")
    assert dict(refused.value.facts)["path"] == str(project.place)
    assert tree_of(outside) == before
    holdfast.note(project, "note")


def test_an_open_store_that_was_made_anew_is_the_new_one(project: Workspace, tmp_path: Path) -> None:
    holdfast.start(project, "old")
    project.place.rename(tmp_path / "old")
    with holdfast.open(project.root) as other:
        holdfast.start(other, "new")
    holdfast.note(project, "note")
    with project.reading() as journal:
        assert [run.goal for run in journal.list_runs(RunQuery())[0]] == ["new"]


def test_a_call_is_kept_in_the_inbox_that_was_looked_at(project: Workspace, outside: Path) -> None:
    script = """
import os, sys
sys.path.insert(0, sys.argv[1])
from holdfast.agents import generic_client
from holdfast.project import inbox_writer
from holdfast.system.locate import open_ours
place, outside = sys.argv[2:]
inbox = open_ours("inbox", open_ours(place))
os.rename(place, place + "-away")
os.symlink(outside, place)
inbox_writer.keep(inbox, "robot", "Did", "/", generic_client)
os.unlink(place)
os.rename(place + "-away", place)
"""
    before = tree_of(outside)
    words = [sys.executable, "-I", "-S", "-c", script, str(Path(holdfast.__file__).parents[1])]
    subprocess.run([*words, str(project.place), str(outside)], input=b"{}", check=True)
    assert tree_of(outside) == before
    assert len(os.listdir(project.place / "inbox")) == 1


def test_the_mode_of_what_a_link_leads_to_stays(tmp_path: Path, outside: Path) -> None:
    outside.chmod(0o755)
    (tmp_path / "link").symlink_to(outside)
    with pytest.raises(NotADirectoryError):
        safe_paths.set_mode(tmp_path / "link", 0o700)
    assert outside.stat().st_mode & 0o777 == 0o755


def test_errors_name_the_store_as_people_know_it(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.lock(project.place / "lock", 1.0):
        monkeypatch.setattr(project.store, "deadline", 0.0)
        with pytest.raises(Busy) as busy, project.writing():
            pass
    assert dict(busy.value.facts)["lock"] == str(project.place / "lock")


OPENING = """
import resource, sys
import holdfast
from holdfast.core.errors import HoldfastError
from pathlib import Path
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
root, times = Path(sys.argv[1]), int(sys.argv[2])
for number in range(times):
    with holdfast.open(root) as workspace:
        holdfast.runs(workspace)
place = workspace.place
place.chmod(0o777)
for number in range(times):
    try:
        holdfast.open(root).store
    except HoldfastError as error:
        assert "Others can write" in error.message, error.message
place.chmod(0o700)
"""


@pytest.mark.parametrize("times", [60, pytest.param(2_000, marks=pytest.mark.long)])
def test_whoever_opens_a_store_often_runs_out_of_no_descriptors(times: int, project: Workspace) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 48
    subprocess.run([sys.executable, "-c", OPENING, str(project.root), str(times)], check=True)
