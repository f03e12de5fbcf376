"""A damaged store: what can be had is put together, what is lost is said, and nothing comes back that was gone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.core.errors import Damaged, NotFound
from holdfast.core.model import Draft
from holdfast.journal.sqlite import page_checksums
from holdfast.journal.sqlite.connection import replacement_path
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.maintenance.backup import write_backup
from holdfast.maintenance.repair.repair import Mended
from holdfast.project.workspace import Workspace
from tests.crash.damage import write_back
from tests.sessions import run_of, stored_events
from tests.tools import Command


@pytest.fixture
def worked(project: Workspace) -> Workspace:
    holdfast.start(project, "Mend it")
    for number in range(40):
        holdfast.note(project, f"note {number} " + "word " * 60)
    return project


def keep(workspace: Workspace, name: str = "kept") -> Path:
    """A backup where those are that were made by themselves."""
    directory = workspace.place / "backups"
    directory.mkdir(mode=0o700, exist_ok=True)
    write_backup(workspace, directory / f"{name}.tar.gz")
    return directory / f"{name}.tar.gz"


def tamper(workspace: Workspace, *statements: str) -> None:
    workspace.close()
    connection = apsw.Connection(str(workspace.place / "journal.db"))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.pragma("foreign_keys", False)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def change(path: Path, act: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    act(data)
    path.write_bytes(data)


def mend(workspace: Workspace) -> Mended:
    found = holdfast.repair(workspace).store
    assert found is not None
    return found


def deep(workspace: Workspace) -> list[str]:
    return [problem.what for problem in holdfast.verify(workspace, deep=True).problems]


def notes(workspace: Workspace) -> list[str]:
    return [note.text for note in run_of(workspace).notes]


def test_a_whole_store_is_left_alone(worked: Workspace) -> None:
    before = (worked.place / "journal.db").read_bytes()
    assert mend(worked) == Mended(changed=False)
    assert (worked.place / "journal.db").read_bytes() == before


def test_an_event_that_changed_comes_from_a_backup(worked: Workspace) -> None:
    before = notes(worked)
    keep(worked)
    tamper(worked, "UPDATE event SET body = x'6a7b7d' WHERE seq = 20")
    found = mend(worked)
    assert (found.lost, notes(worked)) == ([], before)
    assert any("backups/kept.tar.gz" in text for text in found.mended)


def test_an_event_that_changed_is_kept_and_named_where_there_is_no_backup(worked: Workspace) -> None:
    tamper(worked, "UPDATE event SET time = time + 1 WHERE seq = 20")
    found = mend(worked)
    assert found.lost == [f"event 20 of {run_of(worked).id} has changed since it was written; it is kept as found"]
    assert len(notes(worked)) == 40


def test_what_is_lost_is_said_also_where_the_named_run_is_not_there(worked: Workspace) -> None:
    tamper(worked, "DELETE FROM event WHERE seq = 20")
    with pytest.raises(NotFound) as raised:
        holdfast.repair(worked, "nobody")
    told = dict(raised.value.facts)
    assert told["lost"] == f"event 20 of {run_of(worked).id}"
    assert {"mended", "the damaged database"} <= told.keys()


def test_a_store_whose_events_have_changed_is_not_backed_up_as_if_it_were_whole(
    worked: Workspace, tmp_path: Path
) -> None:
    tamper(worked, "UPDATE event SET time = time + 1 WHERE seq = 20")
    with pytest.raises(Damaged):
        holdfast.backup(worked, str(tmp_path / "kept"))
    assert list(tmp_path.glob("*kept*")) == []
    mend(worked)


def test_whoever_finds_damage_is_told_of_repair(worked: Workspace) -> None:
    tamper(worked, "UPDATE event SET time = time + 1 WHERE seq = 20")
    done = Command.run("verify", directory=worked.root)
    assert (done.code, "`holdfast repair`" in done.err) == (12, True)
    mend(worked)


@pytest.mark.promise(8, 19)
@pytest.mark.parametrize(
    ("table", "value"),
    [
        ("event", "body = NULL"),
        ("event", "body = 7"),
        ("event", "id = 'text'"),
        ("event", "kind = x'00'"),
        ("event", "time = 'text'"),
        ("event", "time = 9000000000000000000"),
        ("event", "session = 7"),
        ("run", "state = NULL"),
    ],
)
def test_a_value_that_became_another_type_is_damage_and_no_bug(worked: Workspace, table: str, value: str) -> None:
    """A flipped bit in the head of a row does that, whatever the table allows."""
    tamper(
        worked,
        "PRAGMA writable_schema = ON",
        f"CREATE TEMP TABLE was AS SELECT sql FROM sqlite_schema WHERE name = '{table}'",
        f"UPDATE sqlite_schema SET sql = replace(replace(sql, ' NOT NULL', ''), 'STRICT', '') WHERE name = '{table}'",
        "PRAGMA writable_schema = RESET",
        f"UPDATE {table} SET {value} WHERE rowid = (SELECT max(rowid) FROM {table})",
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = (SELECT sql FROM was) WHERE name = '{table}'",
    )
    assert deep(worked) != []
    assert mend(worked).changed
    assert deep(worked) == []


def test_the_place_of_an_event_that_is_lost_is_kept(worked: Workspace) -> None:
    tamper(worked, "DELETE FROM event WHERE seq = 20")
    found = mend(worked)
    assert found.lost == [f"event 20 of {run_of(worked).id}"]
    assert (len(notes(worked)), run_of(worked).seq) == (39, 41)
    assert holdfast.log(worked).events[19].kind == "event.lost"


def test_events_at_the_end_that_are_lost_are_said(worked: Workspace) -> None:
    tamper(worked, "DELETE FROM event WHERE seq > 38")
    assert mend(worked).lost == [f"the events of {run_of(worked).id} after 38, up to 41"]


def test_a_run_whose_first_event_is_lost_keeps_its_goal(worked: Workspace) -> None:
    tamper(worked, "DELETE FROM event WHERE seq = 1")
    found = mend(worked)
    assert (len(found.lost), run_of(worked).goal, run_of(worked).worktree) == (1, "Mend it", ".")


def test_a_run_that_was_deleted_does_not_come_back(worked: Workspace) -> None:
    other = holdfast.start(worked, "Go away").run.id
    keep(worked)
    holdfast.delete(worked, other)
    tamper(worked, "UPDATE event SET body = x'6a7b7d' WHERE seq = 20")
    mend(worked)
    assert [run.goal for run in holdfast.runs(worked).runs] == ["Mend it"]


def test_what_was_taken_back_by_a_backup_does_not_come_back(worked: Workspace, tmp_path: Path) -> None:
    """The backup that restoring makes is of a history that was left."""
    outside = tmp_path / "outside.tar.gz"
    holdfast.backup(worked, str(outside))
    holdfast.note(worked, "a mistake")
    holdfast.restore_backup(worked, str(outside))
    tamper(worked, "UPDATE run SET status = 'completed'")
    mend(worked)
    assert "a mistake" not in notes(worked)
    holdfast.note(worked, "another way")
    tamper(worked, "DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)")
    assert mend(worked).lost != []
    assert "a mistake" not in notes(worked)


def test_the_damaged_database_stays_aside(worked: Workspace) -> None:
    write_back(worked)
    tamper(worked, "UPDATE run SET status = 'completed'")
    before = (worked.place / "journal.db").read_bytes()
    aside = mend(worked).aside
    assert aside is not None
    assert (worked.place / aside / "journal.db").read_bytes() == before


def test_a_journal_that_is_gone_is_not_begun_again_in_silence(worked: Workspace) -> None:
    keep(worked)
    before = notes(worked)
    worked.close()
    for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
        (worked.place / name).unlink(missing_ok=True)
    with pytest.raises(Damaged, match="gone"):
        holdfast.status(worked)
    assert not (worked.place / "journal.db").exists()
    found = mend(worked)
    assert ("everything after backups/kept.tar.gz" in found.lost[0], notes(worked)) == (True, before)


def test_nobody_opens_the_store_while_a_new_database_waits_for_its_place(worked: Workspace) -> None:
    write_back(worked)
    worked.close()
    path = worked.place / "journal.db"
    replacement_path(path).write_bytes(path.read_bytes())
    for _ in range(2):  # once while the old one is still there
        with pytest.raises(Damaged, match="interrupted"):
            holdfast.note(worked, "into the old one")
        path.unlink(missing_ok=True)
    assert mend(worked).mended == ["an interrupted replacement of the database was completed"]
    assert len(notes(worked)) == 40


# What `verify --deep` finds beyond the folds


def test_a_byte_that_nobody_uses_is_found(worked: Workspace) -> None:
    write_back(worked)
    worked.close()
    path = worked.place / "journal.db"

    def flip(data: bytearray) -> None:
        at = data.index(bytes(64), 4096 * 3) + 30
        data[at] = 0xFF

    good = path.read_bytes()
    change(path, flip)
    assert any("has changed since it was written" in what for what in deep(worked))
    worked.close()
    path.write_bytes(good)


def test_a_log_that_breaks_off_is_found_before_anybody_writes_over_it(worked: Workspace) -> None:
    write_back(worked)
    holdfast.note(worked, "in the log")
    holdfast.note(worked, "behind it")
    worked.close()
    log = worked.place / "journal.db-wal"
    change(log, lambda data: data.__setitem__(32 + 24 + 50, data[32 + 24 + 50] ^ 1))
    assert any("the log is damaged at frame 1" in what for what in deep(worked))
    found = mend(worked)
    assert notes(worked)[-1] == "behind it"
    assert found.mended != []


def test_a_log_that_ends_in_an_unfinished_write_is_no_damage(worked: Workspace) -> None:
    write_back(worked)
    holdfast.note(worked, "whole")
    worked.close()
    log = worked.place / "journal.db-wal"
    whole = log.read_bytes()
    for cut in (10, 24, 2000, 24 + page_checksums.PAGE):
        log.write_bytes(whole + whole[32 : 32 + cut][: cut - 1] + b"\0")
        if cut < 24 + page_checksums.PAGE:
            assert deep(worked) == []
        worked.close()
    log.write_bytes(whole)


def test_sums_that_were_kept_before_the_log_was_emptied_are_no_damage(worked: Workspace) -> None:
    """As a kill between the two leaves it; then others go on."""
    write_back(worked)
    holdfast.note(worked, "one more")
    store = worked.store
    assert isinstance(store, SqliteStore)
    frames = (page_checksums.log_path(store.path).stat().st_size - 32) // (24 + page_checksums.PAGE)
    page_checksums.record_log(store.path, frames)
    assert deep(worked) == []
    holdfast.note(worked, "and another")
    assert deep(worked) == []
    write_back(worked)
    assert deep(worked) == []


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("CREATE TABLE stray (x)", "the table stray is not the one of this format"),
        ("DELETE FROM search WHERE rowid = 3", "the search index does not match the events"),
        ("INSERT INTO search (rowid, words) VALUES (900, 'stray')", "the search index does not match the events"),
        ("UPDATE event SET id = randomblob(16) WHERE seq = 3", "event 3 is corrupt"),
    ],
)
def test_what_no_fold_looks_at_is_found(worked: Workspace, statement: str, what: str) -> None:
    tamper(worked, statement)
    assert what in deep(worked)
    mend(worked)
    assert deep(worked) == []


def with_many_values(project: Workspace) -> tuple[str, list[str]]:
    """A run with so many large values that their table has pages between its root and its leaves."""
    run = holdfast.start(project, "Many values").run.id
    texts = [random.Random(number).randbytes(700).hex() for number in range(300)]
    with project.writing() as journal:
        journal.append(run, *(Draft("note.added", {"text": text}) for text in texts))
    write_back(project)
    project.close()
    return run, texts


def lose_first_page(data: bytearray) -> None:
    data[:200] = b"x" * 200


def lose_ways_to_values(data: bytearray) -> None:
    """Let every page between the root and the leaves of an index lead nowhere."""
    for start in range(page_checksums.PAGE, len(data), page_checksums.PAGE):
        if data[start] == 0x02:
            data[start + 8 : start + 12] = b"\xff" * 4
            for at in range(start + 12, start + 12 + 2 * int.from_bytes(data[start + 3 : start + 5], "big"), 2):
                cell = start + int.from_bytes(data[at : at + 2], "big")
                data[cell : cell + 4] = b"\xff" * 4


@pytest.mark.promise(6)
@pytest.mark.parametrize("damage", [lose_first_page, lose_ways_to_values], ids=lambda damage: damage.__name__)
def test_a_large_value_is_found_also_where_no_way_leads_to_it(
    project: Workspace, damage: Callable[[bytearray], None]
) -> None:
    """Those that lay between the leaves of their table were called lost."""
    run, texts = with_many_values(project)
    change(project.place / "journal.db", damage)
    found = mend(project)
    assert found.lost == []
    told = [event.body["text"] for event in stored_events(project, run) if event.kind == "note.added"]
    assert told == texts


@pytest.mark.promise(6)
@pytest.mark.defect(
    "a repair forgot which run each worktree means where the first page was gone, and did not say so", promise=6
)
def test_a_worktree_means_the_same_run_where_the_first_page_is_gone(worked: Workspace) -> None:
    before = run_of(worked).id
    write_back(worked)
    worked.close()
    change(worked.place / "journal.db", lose_first_page)
    mend(worked)
    with worked.reading() as journal:
        assert journal.view.pointers() == {".": before}


@pytest.mark.promise(6)
@pytest.mark.defect(
    "an event that had changed was called lost where rows were gathered page by page, though it could be read",
    promise=6,
)
def test_an_event_that_changed_is_kept_also_where_the_first_page_is_gone(worked: Workspace) -> None:
    tamper(worked, "UPDATE event SET time = time + 1 WHERE seq = 20")
    write_back(worked)
    worked.close()
    change(worked.place / "journal.db", lose_first_page)
    lost = mend(worked).lost
    assert lost == [f"event 20 of {run_of(worked).id} has changed since it was written; it is kept as found"]
    assert len(notes(worked)) == 40
