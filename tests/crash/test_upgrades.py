"""A store of an earlier version is brought up to date: after a backup that was read back, and whole at every moment."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.core.errors import Damaged, Refused
from holdfast.journal import backup_file
from holdfast.journal.sqlite import migrations
from holdfast.journal.sqlite.connection import FORMAT
from holdfast.journal.sqlite.migrations import schema_of
from holdfast.project.workspace import Workspace
from tests.crash.cases import GOAL, SHARED, in_project, opened, the_run
from tests.crash.damage import claim
from tests.crash.modes import FAILURES, each_tier
from tests.crash.older_stores import an_older_store
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome

OLDER = [1, 2, 3]


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.pragma("user_version"))
    finally:
        connection.close()


def backups(place: Path) -> list[Path]:
    return sorted((place / "backups").glob("format-*.tar.gz"))


@pytest.mark.promise(7)
@pytest.mark.parametrize("version", OLDER)
def test_an_older_store_opens_with_everything_in_it(version: int, tmp_path: Path) -> None:
    an_older_store(version, tmp_path)
    with opened(tmp_path) as workspace:
        assert version_of(workspace.place / "journal.db") == version
        run = the_run(workspace)
        assert (run.goal, run.notes[-1].text, len(run.decisions), len(run.tasks)) == (GOAL, SHARED, 1, 1)
        assert holdfast.runs(workspace, search="SQLite").runs != []
        assert holdfast.verify(workspace, deep=True).problems == []
        assert version_of(workspace.place / "journal.db") == FORMAT


@pytest.mark.promise(7)
@pytest.mark.parametrize("version", OLDER)
def test_what_was_there_before_is_kept_and_can_be_put_back(version: int, tmp_path: Path) -> None:
    an_older_store(version, tmp_path)
    with opened(tmp_path) as workspace:
        events = the_run(workspace).seq
        (kept,) = backups(workspace.place)
        contents = backup_file.read_archive(kept, lambda _: None)
        assert (contents.format, contents.rows["event"]) == (version, events)
        assert kept.stat().st_mode & 0o777 == 0o600
        holdfast.note(workspace, "since then")
        holdfast.restore_backup(workspace, str(kept))
        assert the_run(workspace).seq == events
        assert holdfast.verify(workspace, deep=True).problems == []


@pytest.mark.promise(7)
def test_nothing_changes_where_the_backup_cannot_be_made(tmp_path: Path) -> None:
    an_older_store(2, tmp_path)
    place = tmp_path / "project" / ".holdfast"
    (place / "backups").write_text("in the way")
    before = (place / "journal.db").read_bytes()
    with opened(tmp_path) as workspace, pytest.raises(Refused):
        holdfast.status(workspace)
    assert (place / "journal.db").read_bytes() == before
    assert version_of(place / "journal.db") == 2


@pytest.mark.promise(7)
def test_a_damaged_store_is_not_upgraded_but_repaired(tmp_path: Path) -> None:
    an_older_store(2, tmp_path)
    place = tmp_path / "project" / ".holdfast"
    path = place / "journal.db"
    connection = apsw.Connection(str(path))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    data = bytearray(path.read_bytes())
    at = data.index(b"task.added") // 4096 * 4096
    data[at + 1 : at + 8] = b"\xff" * 7
    path.write_bytes(data)
    with opened(tmp_path) as workspace:
        with pytest.raises(Damaged):
            holdfast.status(workspace)
        assert version_of(path) == 2
        assert holdfast.repair(workspace).store is not None
        assert holdfast.verify(workspace, deep=True).problems == []
        assert version_of(path) == FORMAT


def test_the_last_two_backups_are_kept(tmp_path: Path) -> None:
    an_older_store(2, tmp_path)
    place = tmp_path / "project" / ".holdfast"
    (place / "backups").mkdir(mode=0o700)
    for number in (1, 2, 3):
        (place / "backups" / f"format-1-2020010{number}-000000.tar.gz").write_bytes(b"")
    with opened(tmp_path) as workspace:
        holdfast.status(workspace)
    assert len(backups(place)) == 2
    assert backups(place)[-1].name.startswith("format-2")


def test_a_newer_store_says_which_version_it_needs(project: Workspace) -> None:
    project.close()
    path = project.place / "journal.db"
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", FORMAT + 1)
    connection.execute("UPDATE about SET value = '7.8.9' WHERE name = 'needs'")
    connection.close()
    with pytest.raises(Refused, match="newer Holdfast") as refused, holdfast.open(project.root) as other:
        holdfast.status(other)
    assert "Holdfast 7.8.9 or later" in dict(refused.value.facts)["it needs"]
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", FORMAT)
    connection.close()


@pytest.mark.promise(7)
def test_an_older_program_can_put_its_backup_back(project: Workspace, tmp_path: Path) -> None:
    holdfast.start(project, GOAL)
    holdfast.backup(project, str(tmp_path / "before"))
    project.close()
    connection = apsw.Connection(str(project.place / "journal.db"))
    connection.execute("CREATE TABLE later (a)")
    connection.pragma("user_version", FORMAT + 1)
    connection.close()
    with holdfast.open(project.root) as other:
        with pytest.raises(Refused, match="newer Holdfast"):
            holdfast.status(other)
        found = holdfast.restore_backup(other, str(tmp_path / "before"))
        assert (found.before, the_run(other).goal) == (None, GOAL)
        assert found.aside is not None
        assert version_of(other.place / found.aside / "journal.db") == FORMAT + 1
        assert holdfast.verify(other, deep=True).problems == []


@pytest.mark.promise(4, 8)
@pytest.mark.parametrize("version", [-1, 1, FORMAT - 1, FORMAT + 1, 255, 2**31 - 1])
def test_a_damaged_number_of_the_format_is_damage_that_can_be_mended(project: Workspace, version: int) -> None:
    holdfast.start(project, GOAL)
    project.close()
    connection = apsw.Connection(str(project.place / "journal.db"))
    connection.pragma("user_version", version)
    connection.close()
    for _ in range(2):
        with pytest.raises(Damaged), holdfast.open(project.root) as other:
            holdfast.status(other)
    assert backups(project.place) == []
    with holdfast.open(project.root) as other:
        assert holdfast.repair(other).store is not None
        assert the_run(other).goal == GOAL
        assert holdfast.verify(other, deep=True).problems == []


def test_every_format_has_a_script_and_the_newest_is_ours() -> None:
    scripts = sorted((Path(migrations.__file__).parent / "schema").glob("*.sql"))
    assert len(scripts) == FORMAT


# Killed


def _check(version: int, outcome: Outcome) -> None:
    """Old or new, whole, and with every event; the next command finishes it."""
    path = outcome.directory / "project" / ".holdfast" / "journal.db"
    assert version_of(path) in range(version, FORMAT + 1)
    for kept in backups(path.parent):
        backup_file.read_archive(kept, lambda _: None)
    if version_of(path) == version:
        # the program of that version would find its own tables, and no others
        copy = outcome.directory / "copy"
        shutil.copytree(path.parent, copy)
        connection = apsw.Connection(str(copy / "journal.db"))
        assert schema_of(connection) == migrations.expected_schema(version)
        connection.close()
    with opened(outcome.directory) as workspace:
        assert the_run(workspace).notes[-1].text == SHARED
        assert holdfast.verify(workspace, deep=True).problems == []
    assert version_of(path) == FORMAT


def _explore(version: int, modes: tuple[str, ...], points: int | None) -> None:
    explore(
        prepare=functools.partial(an_older_store, version),
        command=status,
        check=functools.partial(_check, version),
        modes=modes,
        points=points,
    ).assert_clean()


def status(directory: Path) -> Sequence[str]:
    """The copy is claimed without opening it, or that would be the upgrade."""
    claim(directory, directory / "project" / ".holdfast")
    return [*in_project(directory), sys.executable, "-m", "holdfast", "status"]


NEEDS_TRACER = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


@NEEDS_TRACER
@pytest.mark.promise(7)
def test_an_upgrade_that_is_killed_leaves_the_old_store_or_the_new_one() -> None:
    _explore(1, ("kill", "torn"), points=5)


@each_tier(8)
@NEEDS_TRACER
@pytest.mark.promise(7)
@pytest.mark.parametrize("version", OLDER)
def test_an_upgrade_killed_at_any_point_leaves_the_old_store_or_the_new_one(version: int, points: int | None) -> None:
    _explore(version, ("kill", "torn", "one"), points=points)


@NEEDS_TRACER
@pytest.mark.promise(5, 7)
def test_an_upgrade_that_the_system_fails_leaves_the_old_store_or_the_new_one() -> None:
    _explore(1, ("ENOSPC", "EIO", "sticky:ENOSPC"), points=2)


@each_tier(3)
@NEEDS_TRACER
@pytest.mark.promise(5, 7)
@pytest.mark.parametrize("version", OLDER)
def test_an_upgrade_failed_at_any_point_leaves_the_old_store_or_the_new_one(version: int, points: int | None) -> None:
    _explore(version, FAILURES, points=points)
