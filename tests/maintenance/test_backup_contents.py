"""Everything in a store is in a backup of it, or is named here with the reason why not."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Draft
from holdfast.maintenance import backup
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from holdfast.worktree.packs import prune
from tests.conftest import TickingClock
from tests.packs import packs
from tests.sessions import a_worktree
from tests.tools import hook
from tests.worktrees import put, take

FORMAT = Path(__file__).parent.parent.parent / "docs" / "format.md"
HELD = {  # in the store -> in the backup
    "journal.db": "journal.db",
    "inbox/": "inbox/",
    "inbox/aside/": "inbox/aside/",
    "faces/": "faces/",
    "exported/": "exported/",
    "deleted/": "deleted/",
    "carried/": "carried/",
}
NOT_HELD = {
    "id": "a store that is put back keeps its own name, or it would not be known as ours",
    "journal.sums": "made anew for the database that is put back",
    "journal.db.new": "only while a database takes its place",
    "lock": "of this place",
    "backup.lock": "of this place",
    "repair.lock": "of this place",
    "packs-lock": "of this place",
    "root": "of this place",
    "rules": "the number of the rules that this store was scanned with",
    "backups/": "backups themselves",
    "backing-up/": "where the backup is put together",
    "trouble": "what hooks could not keep, once; it is said and then cleared",
    "listed.json": "what a terminal listed last",
    "briefs-due/": "marks of conversations that go on now",
    "alive/": "signs of life of processes that run now",
    "context.json": "a cache",
    "tidied.json": "when this place was tidied",
    "off": "a switch of this place",
    "git/": "an empty configuration; the packs and refs are in the backup",
    "worktrees/": "caches",
    "aside/": "what was in the way here, and damaged originals",
    "purging": "only while a run is purged, and then no copy of it should be made",
    ".gitignore": "made with the store",
    "journal.db-wal": "the database in the backup is one file",
    "journal.db-shm": "the database in the backup is one file",
}


@pytest.fixture
def full(project: Workspace, clock: TickingClock, tmp_path: Path) -> Workspace:
    """A store with something in every directory that a backup should hold."""
    with project.writing() as journal:
        for number, name in enumerate(("kept", "gone")):
            journal.start(f"run-000000000{number}", Draft("run.started", {"goal": name, "worktree": "."}))
            body = {"epoch": 0, "agent_session": f"conversation-{name}"}
            journal.append(f"run-000000000{number}", Draft("session.opened", body, session=f"ses-000000000{number}"))
    holdfast.export(project, "run-0000000000", tmp_path / "exported", raw=True)
    holdfast.delete(project, "run-0000000001")
    put(project.root, {"a.txt": "a"})
    take(project)
    carried = project.place / "carried" / "run-0000000000"
    face = project.place / "faces" / ("0" * 32)
    for directory in (carried.parent, carried, face.parent, face):
        directory.mkdir(mode=0o700)
    (carried / "conversation-kept.jsonl").write_text("{}\n")
    digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    (face / f"00000001-{digest}").write_text("{}")
    (project.inbox / "aside").mkdir(mode=0o700)
    (project.inbox / "aside" / "00000000000000000001-00000000-1-00000000").write_bytes(b"not a call")
    hook(project.root, "robot", "Did", b"{}")
    return project


def names_in(path: Path) -> list[str]:
    with tarfile.open(path) as tar:
        return tar.getnames()


def test_every_entry_of_the_format_is_held_by_a_backup_or_there_is_a_reason(full: Workspace, tmp_path: Path) -> None:
    block = FORMAT.read_text().partition("## The directory")[2].split("```")[1]
    told = set(re.findall(r"^  ([a-z.][\w./-]*)", block, re.MULTILINE))
    assert told - HELD.keys() - NOT_HELD.keys() == set(), "new in the store: let the backup hold it, or say why not"
    assert HELD.keys() & NOT_HELD.keys() == set()
    there = {f"{path.name}/" if path.is_dir() else path.name for path in full.place.iterdir()}
    assert there - HELD.keys() - NOT_HELD.keys() == set(), "the page of the format does not name it"
    holdfast.backup(full, str(tmp_path / "backup"))
    found = names_in(tmp_path / "backup")
    assert [place for place, name in HELD.items() if not any(part.startswith(name) for part in found)] == []


def test_a_store_that_is_put_back_knows_what_was_exported_deleted_and_carried(full: Workspace, tmp_path: Path) -> None:
    holdfast.backup(full, str(tmp_path / "backup"))
    expected = {
        str(path.relative_to(full.place)): path.read_bytes()
        for kind in ("faces", "exported", "deleted", "carried", "inbox/aside")
        for path in (full.place / kind).rglob("*")
        if path.is_file()
    }
    assert len(expected) >= 5
    for name in expected:
        (full.place / name).unlink()
    holdfast.restore_backup(full, str(tmp_path / "backup"))
    assert {name: (full.place / name).read_bytes() for name in expected} == expected
    assert tombstones.was_deleted(full.place, "conversation-gone")
    assert not tombstones.was_deleted(full.place, "conversation-kept")
    assert tombstones.find_exported(full.place, "run-0000000000") is not None
    assert {path.stat().st_mode & 0o777 for path in (full.place / "carried").rglob("*.jsonl")} == {0o600}


def test_a_run_that_is_back_was_not_deleted(full: Workspace, tmp_path: Path) -> None:
    """Its conversation counted as deleted, and `import --claude` passed it over."""
    holdfast.backup(full, str(tmp_path / "backup"))
    holdfast.delete(full, "run-0000000000")
    assert tombstones.was_deleted(full.place, "conversation-kept")
    holdfast.restore_backup(full, str(tmp_path / "backup"))
    assert not tombstones.was_deleted(full.place, "conversation-kept")
    assert tombstones.was_deleted(full.place, "conversation-gone")


def test_a_mark_of_an_export_gives_way_only_if_its_events_are_gone(full: Workspace, tmp_path: Path) -> None:
    holdfast.backup(full, str(tmp_path / "backup"))
    before = tombstones.find_exported(full.place, "run-0000000000")
    holdfast.note(full, "more", run="run-0000000000")
    holdfast.export(full, "run-0000000000", tmp_path / "again", raw=True)
    assert tombstones.find_exported(full.place, "run-0000000000") != before
    holdfast.restore_backup(full, str(tmp_path / "backup"))
    assert tombstones.find_exported(full.place, "run-0000000000") == before


@pytest.mark.promise(1, 2)
def test_packs_that_another_worktree_would_merge_meanwhile_are_all_in_it(
    project: Workspace, tmp_path: Path, clock: TickingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock of its own worktree only. The packs that it made one of were not in the backup."""
    for number in range(4):
        put(project.root, {"a.txt": str(number)})
        take(project)
    before = {pack.name for pack in packs(project)}
    link, merged = backup._link, list[int]()
    monkeypatch.setattr(prune, "MERGED", 3)
    with a_worktree(project, tmp_path / "linked", clock) as linked:

        def link_while_packs_are_merged(source: Path, target: Path) -> None:
            if not merged:
                with shadow_of(linked) as shadow:
                    merged.append(prune.merge(shadow))
            link(source, target)

        monkeypatch.setattr(backup, "_link", link_while_packs_are_merged)
        holdfast.backup(project, str(tmp_path / "kept.tar.gz"))
        names = {name.removeprefix("packs/") for name in names_in(tmp_path / "kept.tar.gz")}
        assert (merged, before - names) == ([0], set())
        with shadow_of(linked) as shadow:
            assert prune.merge(shadow) == len(before)
