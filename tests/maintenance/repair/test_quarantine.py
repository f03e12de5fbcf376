"""What was put aside: damaged originals and replaced stores are kept for some time, and then go when room is needed."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.maintenance.repair import quarantine
from holdfast.operations.maintenance import Repaired
from holdfast.project.quota import measure_usage
from holdfast.project.workspace import Workspace
from holdfast.system import files
from tests.conftest import TickingClock
from tests.crash.damage import write_back
from tests.maintenance.test_quota import capped, words, worked
from tests.tools import Command
from tests.worktrees import back, put, take

OLD = timedelta(days=31)


def broken(project: Workspace, at: int, data: bytes) -> Repaired:
    """Damage the database, and repair it."""
    write_back(project)
    project.close()
    path = project.place / "journal.db"
    at = at if at >= 0 else path.stat().st_size + at
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)
    return holdfast.repair(project)


def with_loss(project: Workspace, clock: TickingClock) -> Path:
    """A database that was damaged so that something is lost; it lies aside since now."""
    found = broken(project, -400_000, bytes(200_000))
    assert found.store is not None
    assert found.store.lost
    return aged(project.place / str(found.store.aside), clock)


def without_loss(project: Workspace, clock: TickingClock) -> Path:
    found = broken(project, 24, b"\xff" * 4)
    assert found.store is not None
    assert found.store.lost == []
    return aged(project.place / str(found.store.aside), clock)


def aged(path: Path, clock: TickingClock) -> Path:
    """The clock of a test is not the disk's."""
    os.utime(path, (clock.now().timestamp(), clock.now().timestamp()))
    return path


def replaced(project: Workspace, tmp_path: Path, clock: TickingClock) -> Path:
    """A store that a backup has replaced."""
    holdfast.backup(project, str(tmp_path / "backup"))
    worked(project, "more", calls=80)
    before = holdfast.restore_backup(project, str(tmp_path / "backup")).before
    assert before is not None
    return aged(Path(before), clock)


@pytest.mark.promise(11)
def test_a_damaged_original_stays_for_a_month_although_the_store_is_full_and_then_goes(
    project: Workspace, clock: TickingClock
) -> None:
    worked(project, "goal", calls=80)
    original = with_loss(project, clock)
    name = str(original.relative_to(project.place))
    with capped(project, 1, clock) as full:
        done = holdfast.tidy(full)
        assert (done.aside, original.exists()) == ([], True)
        assert done.room.total > done.cap
        clock.time += OLD
        planned = holdfast.tidy(full, dry_run=True)
        assert (planned.aside, original.exists()) == ([name], True)
        told = holdfast.tidy(full)
        assert (told.aside, original.exists()) == ([name], False)
        assert told.room.total < told.cap, "the cap is hard"
        assert holdfast.tidy(full).aside == []
        assert holdfast.verify(full, deep=True).problems == []


@pytest.mark.promise(11)
def test_a_damaged_original_stays_as_long_as_there_is_room(project: Workspace, clock: TickingClock) -> None:
    worked(project, "goal", calls=80)
    original = with_loss(project, clock)
    clock.time += timedelta(days=4_000)
    assert holdfast.tidy(project).aside == []
    assert original.exists()


@pytest.mark.promise(11)
def test_a_damaged_original_stays_while_the_store_in_its_place_is_damaged_too(
    project: Workspace, clock: TickingClock
) -> None:
    worked(project, "goal", calls=80)
    original = with_loss(project, clock)
    write_back(project)
    clock.time += OLD
    with capped(project, 1, clock) as full:
        path = full.place / "journal.sums"
        sums = path.read_bytes()
        path.write_bytes(sums[:-4] + b"\1\2\3\4")
        removed, freed = quarantine.remove_originals(full, 1, dry_run=False)
        assert (removed, freed, original.exists()) == ([], 0, True)
        path.write_bytes(sums)
        assert quarantine.remove_originals(full, 1, dry_run=False)[0] == [str(original.relative_to(full.place))]


@pytest.mark.promise(11)
def test_a_database_of_which_nothing_was_lost_is_a_second_copy_that_goes_after_a_week(
    project: Workspace, clock: TickingClock
) -> None:
    run = worked(project, "goal", calls=10)
    original = without_loss(project, clock)
    put_ballast(original, clock)
    with capped(project, 1, clock) as full:
        assert holdfast.tidy(full).aside == [], "the newest second copy stays for a week"
        clock.time += timedelta(days=8)
        assert holdfast.tidy(full).aside == [str(original.relative_to(full.place))]
        assert holdfast.show(full, run).run.id == run


def put_ballast(original: Path, clock: TickingClock) -> None:
    with open(original / "journal.db", "ab") as file:
        file.write(bytes(1_500_000))
    aged(original, clock)


@pytest.mark.promise(11)
def test_of_what_goes_the_database_goes_first_and_what_it_is_known_by_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory looks new once something is gone from it: a kill left the database there for another month."""
    names = ["nothing-lost", "journal.sums", "journal.db-wal", "journal.db"]
    for name in names:
        (tmp_path / name).touch()
    gone: list[str] = []

    def remove(path: Path) -> None:
        gone.append(path.name)
        path.unlink()

    monkeypatch.setattr(files, "remove", remove)
    quarantine.remove_original(quarantine.Original(tmp_path, 0, datetime.now(UTC), True))
    assert gone == ["journal.db", "journal.db-wal", "journal.sums", "nothing-lost"]


def test_a_store_that_a_backup_replaced_stays_for_a_month(
    project: Workspace, clock: TickingClock, tmp_path: Path
) -> None:
    worked(project, "goal", calls=1)
    before = replaced(project, tmp_path, clock)
    with capped(project, 1, clock) as full:
        assert holdfast.tidy(full).aside == []
        clock.time += OLD
        assert holdfast.tidy(full).aside == [f"backups/{before.name}"]
        assert not before.exists()


@pytest.mark.promise(11)
def test_with_no_number_of_days_they_stay_for_good(project: Workspace, clock: TickingClock) -> None:
    worked(project, "goal", calls=80)
    original = with_loss(project, clock)
    clock.time += timedelta(days=4_000)
    with capped(project, 1, clock, aside__keep_days="0") as full:
        assert holdfast.tidy(full).aside == []
        assert original.exists()
        assert "they stay, as `aside.keep_days` is 0" in holdfast.status(full).warnings[-1]


@pytest.mark.promise(11)
def test_originals_stay_while_somebody_repairs(project: Workspace, clock: TickingClock) -> None:
    worked(project, "goal", calls=80)
    original = with_loss(project, clock)
    clock.time += OLD
    with (
        capped(project, 1, clock, store__deadline="0.1") as full,
        files.lock(full.place / "repair.lock", 1.0),
    ):
        assert quarantine.remove_originals(full, 1, dry_run=False) == ([], 0)
        assert original.exists()


@pytest.mark.promise(11)
def test_what_a_restore_moved_aside_is_never_removed(project: Workspace, clock: TickingClock) -> None:
    put(project.root, {".gitignore": "*.o\n", "a": "a file"})
    made = take(project)
    (project.root / "a").unlink()
    put(project.root, {"a/mine.o": words(2, 1_500_000)})
    back(project, made)
    (kept,) = (project.place / "aside").glob("res-*")
    aged(kept, clock)
    clock.time += timedelta(days=400)
    with capped(project, 1, clock) as full:
        assert holdfast.tidy(full).aside == []
        assert [path.name for path in kept.rglob("*.o")] == ["mine.o"]


def test_what_was_put_aside_is_counted_by_itself(project: Workspace, clock: TickingClock, tmp_path: Path) -> None:
    worked(project, "goal", calls=80)
    original, before = with_loss(project, clock), replaced(project, tmp_path, clock)
    expected = sum(path.stat().st_size for path in [*original.iterdir(), before])
    assert measure_usage(project).aside == expected
    found = holdfast.sizes(project)
    assert found.rest["put aside"] == expected
    assert sum(run.total for run in found.runs) + found.others + sum(found.rest.values()) == found.room.total


def test_status_and_doctor_say_what_will_go_before_it_goes(project: Workspace, clock: TickingClock) -> None:
    worked(project, "goal", calls=80)
    original = with_loss(project, clock)
    assert holdfast.status(project).warnings == [], "there is room"
    checks = {check.name: check for check in holdfast.doctor(project).checks}
    assert checks["put aside"].state == "ok"
    with capped(project, 1, clock) as full:
        when = f"from {clock.now() + timedelta(days=30):%Y-%m-%d} on the oldest go when room is needed"
        assert when in holdfast.status(full).warnings[-1]
        checks = {check.name: check for check in holdfast.doctor(full).checks}
        assert checks["put aside"].state == "warning"
        assert when in checks["put aside"].about
    os.utime(original, (0, 0))
    told = Command.run("tidy", "--dry-run", directory=project.root).ok()
    assert f"Would remove what was put aside: aside/{original.name}" in told.err


def test_a_damaged_backup_is_kept_from_the_moment_it_went_aside(project: Workspace) -> None:
    (project.place / "backups").mkdir(mode=0o700)
    bad = project.place / "backups" / "format-2-20260101-120000.tar.gz"
    bad.write_bytes(b"no backup")
    os.utime(bad, (0, 0))
    holdfast.repair(project)
    (found,) = quarantine.list_originals(project)
    assert found.path.parent.name == "copies"
    assert found.since.year > 2000
