"""Locks that are taken in the middle of longer work: whoever comes in between is not passed over."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import holdfast
from holdfast.core.errors import Busy
from holdfast.journal.sqlite.connection import replacement_path
from holdfast.layouts.goteam import RECORD, purge as teampurging
from holdfast.maintenance import background, backup, prune as eviction, purge as purging
from holdfast.maintenance.purge import Purge
from holdfast.maintenance.repair import packs, repair
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.packs import prune
from tests.conftest import TickingClock
from tests.packs import pruned
from tests.sessions import a_worktree, with_environ
from tests.worktrees import git, put, take

pytestmark = pytest.mark.promise(12)

Hold = Callable[[Path], None]


@pytest.fixture
def impatient(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A project with a checkpoint, in which nobody waits longer than a moment."""
    for module in (packs, purging, backup, eviction, prune):
        monkeypatch.setattr(module, "PATIENCE", 0.1)
    holdfast.start(project, "goal")
    put(project.root, {"one": "then"})
    take(project, "then")
    with with_environ(project, HOLDFAST_STORE_DEADLINE="0.1") as workspace:
        yield workspace


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Take a lock, at any moment, and have it until the test is over."""
    with contextlib.ExitStack() as held:
        yield lambda path: held.enter_context(files.lock(path, 1.0))


def of_worktree(workspace: Workspace) -> Path:
    with shadow_of(workspace) as shadow:
        return shadow.directory / "lock"


def on_shelf(workspace: Workspace) -> set[int]:
    with shadow_of(workspace) as shadow:
        return set(shadow.object_store.numbers())


def a_backup(workspace: Workspace, tmp_path: Path) -> Path:
    path = tmp_path / "kept.tar.gz"
    holdfast.backup(workspace, str(path))
    return path


def left_unfinished(workspace: Workspace) -> Path:
    """A database that was ready to take its place when its process was killed."""
    workspace.close()
    new = replacement_path(workspace.place / "journal.db")
    new.write_bytes((workspace.place / "journal.db").read_bytes())
    return new


def test_one_backup_waits_for_another(impatient: Workspace, hold: Hold, tmp_path: Path) -> None:
    hold(impatient.place / "backup.lock")
    with pytest.raises(Busy):
        a_backup(impatient, tmp_path)


def test_a_backup_is_not_put_back_while_somebody_repairs(impatient: Workspace, hold: Hold, tmp_path: Path) -> None:
    kept = a_backup(impatient, tmp_path)
    hold(impatient.place / "repair.lock")
    with pytest.raises(Busy):
        holdfast.restore_backup(impatient, str(kept))


@pytest.mark.parametrize("again", [holdfast.repair, lambda w: holdfast.restore_backup(w, str(w.root / "kept.tar.gz"))])
def test_a_database_that_was_ready_does_not_take_its_place_under_a_writer(
    impatient: Workspace, hold: Hold, again: Callable[[Workspace], object]
) -> None:
    a_backup(impatient, impatient.root)
    new = left_unfinished(impatient)
    hold(impatient.place / "lock")
    with pytest.raises(Busy):
        again(impatient)
    assert new.exists()
    new.unlink()


def test_a_backup_does_not_replace_the_database_under_a_writer(
    impatient: Workspace, hold: Hold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who begins to write when all else is prepared is waited for."""
    kept = a_backup(impatient, tmp_path)
    inode = (impatient.place / "journal.db").stat().st_ino
    monkeypatch.setattr(backup, "put_packs", lambda workspace, room: hold(workspace.place / "lock"))
    with pytest.raises(Busy):
        holdfast.restore_backup(impatient, str(kept))
    assert (impatient.place / "journal.db").stat().st_ino == inode


def test_a_database_is_not_built_anew_under_a_writer(
    impatient: Workspace, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    inode = (impatient.place / "journal.db").stat().st_ino

    def problems(workspace: Workspace) -> list[str]:
        hold(workspace.place / "lock")
        return ["a page has changed"]

    monkeypatch.setattr(repair, "_database_problems", problems)
    with pytest.raises(Busy):
        holdfast.repair(impatient)
    assert (impatient.place / "journal.db").stat().st_ino == inode


def test_the_shelf_of_a_worktree_is_mended_and_put_back_by_one_alone(
    impatient: Workspace, hold: Hold, tmp_path: Path
) -> None:
    with impatient.reading() as journal:
        found = [replace(made, worktree="other") for made in journal.list_checkpoints()]
    other = of_worktree(impatient).parent.with_name("other")
    other.mkdir(mode=0o700)
    hold(other / "lock")
    with pytest.raises(Busy):
        packs.repair_packs(impatient, found, packs.Mended())
    hold(of_worktree(impatient))
    (tmp_path / "room").mkdir()
    with pytest.raises(Busy):
        backup._put_refs(impatient, tmp_path / "room")


def test_a_purge_takes_nothing_off_a_shelf_that_somebody_uses(impatient: Workspace) -> None:
    with impatient.reading() as journal:
        (made,) = journal.list_checkpoints()
    shelved = on_shelf(impatient)
    eviction._drop(impatient, [made])
    with files.lock(of_worktree(impatient), 1.0), pytest.raises(Busy):
        purging._clear_worktrees(impatient, Purge("run", checkpoints={made.id: (made.worktree, made.number)}))
    assert on_shelf(impatient) == shelved != set()


def test_a_purge_forgets_nothing_of_a_worktree_that_somebody_looks_at(impatient: Workspace, hold: Hold) -> None:
    lock = of_worktree(impatient)
    hold(lock)
    before = sorted(lock.parent.iterdir())
    with pytest.raises(Busy):
        purging._clear_worktrees(impatient, Purge("run"))
    assert sorted(lock.parent.iterdir()) == before


@pytest.mark.parametrize("name", ["backup.lock", "repair.lock"])
def test_a_purge_leaves_the_room_in_which_somebody_works(impatient: Workspace, hold: Hold, name: str) -> None:
    rooms = [impatient.place / room for room in purging.ROOMS]
    for room in rooms:
        files.make_private_directory(room)
    hold(impatient.place / name)
    with pytest.raises(Busy):
        list(purging._remove_copies(impatient, Purge("run")))
    assert all(room.exists() for room in rooms)


def test_a_purge_waits_for_who_writes_a_teams_files_in_another_worktree(impatient: Workspace, hold: Hold) -> None:
    seen = impatient.place / "worktrees" / "another" / RECORD
    files.make_private_directory(seen.parent)
    seen.write_text("{}")
    hold(seen.with_name("team.lock"))
    with pytest.raises(Busy):
        teampurging.purge(impatient, "run", [])
    assert seen.read_text() == "{}"


def test_packs_are_not_pruned_while_a_worktree_makes_a_checkpoint(impatient: Workspace, hold: Hold) -> None:
    with shadow_of(impatient) as shadow:
        pass
    hold(shadow.directory / "lock")
    with pytest.raises(Busy):
        prune.prune(shadow, impatient.place, lambda *_: None)


def test_what_a_new_worktree_begins_to_write_while_packs_are_pruned_stays(
    impatient: Workspace, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock was not there yet when all others were taken."""
    with shadow_of(impatient) as shadow:
        begun = shadow.git.objects / "pack" / "tmp_holdfast_aaaaaaaaaaaa"

    def write(*_: object) -> str:
        new = impatient.place / "worktrees" / "new"
        files.make_private_directory(new)
        hold(new / "lock")
        begun.write_bytes(b"half a pack")
        return ""

    monkeypatch.setattr(prune, "_write", write)
    with pytest.raises(Busy):
        prune.prune(shadow, impatient.place, lambda *_: None)
    assert begun.read_bytes() == b"half a pack"
    begun.unlink()


def test_a_worktree_that_is_gone_is_tidied_by_one_alone(
    impatient: Workspace, hold: Hold, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(impatient, tmp_path / "other", clock) as other:
        holdfast.start(other, "theirs")
        for number in range(3):
            put(other.root, {"two": str(number)})
            holdfast.checkpoint(other)
        lock = of_worktree(other)
    git(impatient.root, "worktree", "remove", "--force", str(tmp_path / "other"))
    hold(lock)
    with pytest.raises(Busy):
        holdfast.tidy(impatient, most=1)


def test_what_nobody_waits_for_is_done_by_one_alone(impatient: Workspace, hold: Hold) -> None:
    background.run_pending(impatient)
    (place,) = (impatient.place / "worktrees").glob("*/later")
    hold(place)
    assert background.run_pending(impatient) == 0
    assert os.listdir(place.with_name("turns")) == ["-"]


@pytest.mark.parametrize("work", ["backup", "repair", "prune"])
def test_no_pack_goes_while_somebody_needs_them_all(
    impatient: Workspace, hold: Hold, tmp_path: Path, work: str
) -> None:
    with impatient.reading() as journal:
        found = list(journal.list_checkpoints())
    works: dict[str, Callable[[], object]] = {
        "backup": lambda: a_backup(impatient, tmp_path),
        "repair": lambda: packs.repair_packs(impatient, found, packs.Mended()),
        "prune": lambda: pruned(impatient),
    }
    hold(impatient.place / "packs-lock")
    with pytest.raises(Busy):
        works[work]()
