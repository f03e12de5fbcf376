"""Backups that are made by themselves: the one just made stays, whatever the clock says, and no two have one name."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Trouble
from holdfast.journal import backup_file
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.project.workspace import Workspace
from tests.crash.cases import opened
from tests.crash.older_stores import an_older_store

NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


class Standing:
    """A clock that stands still, at a time that somebody sets."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def target(project: Workspace, tmp_path: Path) -> Path:
    """A backup of a project with a run."""
    holdfast.start(project, "Keep it")
    holdfast.backup(project, str(tmp_path / "kept.tar.gz"))
    return tmp_path / "kept.tar.gz"


def replaced_at(root: Path, time: datetime, target: Path, note: str) -> Path:
    """Where the store is kept that a backup replaced at this time, with a note that nothing else holds."""
    with holdfast.open(root, clock=Standing(time)) as workspace:
        holdfast.note(workspace, note)
        before = holdfast.restore_backup(workspace, str(target)).before
    assert before is not None
    return Path(before)


def notes(workspace: Workspace) -> list[str]:
    return [note.text for note in holdfast.runs(workspace).runs[0].notes]


@pytest.mark.promise(11)
def test_what_a_backup_replaces_is_kept_though_the_clock_was_set_back(project: Workspace, target: Path) -> None:
    first, second = (replaced_at(project.root, NOON + timedelta(hours=hour), target, "older") for hour in (2, 3))
    before = replaced_at(project.root, NOON, target, "only here")
    assert (before.exists(), second.exists(), first.exists()) == (True, True, False)
    holdfast.restore_backup(project, str(before))
    assert notes(project) == ["only here"]


@pytest.mark.promise(11)
def test_of_what_was_replaced_after_the_clock_was_set_back_the_last_two_are_kept(
    project: Workspace, target: Path
) -> None:
    """By their dates, the one from before would have been taken for the newest ever after."""
    made = [replaced_at(project.root, NOON - timedelta(hours=hour), target, "a note") for hour in (1, 2, 3)]
    assert [path.exists() for path in made] == [False, True, True]


@pytest.mark.promise(11)
def test_two_stores_that_were_replaced_within_one_second_are_both_kept(project: Workspace, target: Path) -> None:
    first, second = (replaced_at(project.root, NOON, target, note) for note in ("the first", "the second"))
    assert first != second
    holdfast.restore_backup(project, str(first))
    assert notes(project) == ["the first"]


@pytest.mark.promise(11)
@pytest.mark.parametrize("harm", ["gone", "damaged"])
def test_the_files_stay_aside_where_their_backup_is_not_whole_any_more(
    harm: str, project: Workspace, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace_after_harm(store: SqliteStore, complete: Path, aside: Path) -> Path | None:
        (backup,) = (project.place / "backups").iterdir()
        backup.unlink() if harm == "gone" else backup.write_bytes(backup.read_bytes()[:-20])
        return replace(store, complete, aside)

    replace = SqliteStore.replace
    monkeypatch.setattr(SqliteStore, "replace", replace_after_harm)
    holdfast.note(project, "only here")
    found = holdfast.restore_backup(project, str(target))
    assert (found.before, found.aside is not None) == (None, True)
    kept = (project.place / str(found.aside)).iterdir()
    assert b"only here" in b"".join(path.read_bytes() for path in kept)
    for path in (project.place / "backups").iterdir():
        path.unlink()


@pytest.mark.promise(11)
def test_the_backup_that_is_put_back_is_not_removed_before_it_is_in_its_place(
    project: Workspace, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that restoring made, the older one is what somebody wants back."""
    wanted, _ = (replaced_at(project.root, NOON, target, note) for note in ("wanted", "not wanted"))

    def fail(*_: object) -> None:
        raise Trouble("The disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, "replace", fail)
        with pytest.raises(Trouble):
            holdfast.restore_backup(project, str(wanted))
    holdfast.restore_backup(project, str(wanted))
    assert notes(project) == ["wanted"]


@pytest.mark.promise(7, 11)
def test_the_backup_of_an_upgrade_is_kept_though_the_clock_was_set_back(tmp_path: Path) -> None:
    an_older_store(2, tmp_path)
    backups = tmp_path / "project" / ".holdfast" / "backups"
    backups.mkdir(mode=0o700)
    later = time.time() + 3600
    for number in (1, 2):
        (backups / f"format-1-2099010{number}-000000.tar.gz").write_bytes(b"")
        os.utime(backups / f"format-1-2099010{number}-000000.tar.gz", (later + number, later + number))
    with opened(tmp_path) as workspace:
        holdfast.status(workspace)
    kept = sorted(path.name for path in backups.iterdir())
    assert kept[0] == "format-1-20990102-000000.tar.gz"
    assert [name.startswith("format-2-") for name in kept[1:]] == [True]


def test_a_file_that_no_backup_of_ours_is_called_is_left_alone(tmp_path: Path) -> None:
    names = ["replaced-mine.tar.gz", "replaced-20260101-120000.tar.gz", "replaced-20260102-120000.tar.gz"]
    for name in names:
        (tmp_path / name).touch()
    made = backup_file.next_place(tmp_path, "replaced-", "20200101-120000")
    made.touch()
    backup_file.drop_earlier(made, "replaced-")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([names[0], names[2], made.name])
