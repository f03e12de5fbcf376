"""Stores with something of everything, and the ways in which each can be damaged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw

import holdfast
from holdfast.core.model import Draft
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.maintenance.backup import write_backup
from holdfast.project import known_projects
from holdfast.project.workspace import Workspace
from tests.crash.cases import environment, opened

EVENTS = 200
PAGE = 4096


def write_back(workspace: Workspace) -> None:
    """Let the database hold what the log holds, and know the sum of each page."""
    store = workspace.store
    assert isinstance(store, SqliteStore)
    with store.locked():
        assert store.write_back()


def a_full_store(directory: Path, *, with_checkpoints: bool = True) -> None:
    """Two runs, a large value, a forgotten event, two checkpoints, a backup, and a log with some commits."""
    (directory / "home").mkdir()
    subprocess.run(["git", "init", "-q", str(directory / "project")], check=True, env=environment(directory))
    (directory / "project" / "file").write_text("first\n")
    with opened(directory) as workspace:
        holdfast.start(workspace, "first")
        if with_checkpoints:
            holdfast.checkpoint(workspace, name="one")
        run = holdfast.start(workspace, "second", agent="robot").run.id
        holdfast.note(workspace, "a large text " * 200)
        forgotten = holdfast.note(workspace, "to be forgotten")
        holdfast.forget(workspace, str(forgotten.seq))
        for start in range(0, EVENTS, 50):
            with workspace.writing() as journal:
                drafts = [Draft("action.taken", {"text": f"action {start + n} {'x' * 200}"}) for n in range(50)]
                journal.append(run, *drafts)
        (directory / "project" / "file").write_text("second\n")
        if with_checkpoints:
            holdfast.checkpoint(workspace, name="two")
        (workspace.place / "backups").mkdir(mode=0o700)
        write_backup(workspace, workspace.place / "backups" / "before.tar.gz")
        write_back(workspace)
        holdfast.note(workspace, "late")
        holdfast.decide(workspace, "Keep going", because="it is nearly done")


def place_of(directory: Path) -> Path:
    return directory / "project" / ".git" / "holdfast"


def claim(directory: Path, place: Path | None = None) -> None:
    """A copy is not believed; the copies of a test are ours. The store need not be sound for this."""
    place, state = place or place_of(directory), directory / "home" / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    id = (place / "id").read_text().strip()
    known_projects.claim(state / "stores", id, place, directory / "project")


def _change(path: Path, at: int, data: bytes) -> None:
    path.chmod(0o600)
    with open(path, "r+b") as file:
        file.seek(at if at >= 0 else path.stat().st_size + at)
        file.write(data)


def flipped(name: str, at: Callable[[bytes], int]) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        path = place_of(directory) / name
        data = path.read_bytes()
        where = at(data)
        _change(path, where, bytes([data[where] ^ 0x41]))

    return damage


def filled(name: str, start: Callable[[bytes], int], size: int) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        path = place_of(directory) / name
        _change(path, start(path.read_bytes()), os.urandom(size))

    return damage


def shortened(name: str, share: float) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        path = place_of(directory) / name
        os.truncate(path, int(path.stat().st_size * share))

    return damage


def tampered(*statements: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        connection = apsw.Connection(str(place_of(directory) / "journal.db"))
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.pragma("foreign_keys", False)
        for statement in statements:
            connection.execute(statement)
            assert connection.changes()
        connection.close()

    return damage


def gone(*names: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        for name in names:
            (place_of(directory) / name).unlink()

    return damage


def in_git(pattern: str, act: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        found = sorted((directory / "project" / ".git").glob(pattern))
        assert found
        act(found[-1])

    return damage


def both(*damages: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        for found in damages:
            found(directory)

    return damage


def _body(data: bytes) -> int:
    return data.index(b"action 120") + 40


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a byte in an event": flipped("journal.db", _body),
    "a page of events": filled("journal.db", lambda data: _body(data) // PAGE * PAGE, PAGE),
    "three pages": filled("journal.db", lambda data: _body(data) // PAGE * PAGE - PAGE, 3 * PAGE),
    "the head of the database": filled("journal.db", lambda data: 0, 60),
    "the first page": filled("journal.db", lambda data: 0, PAGE),
    "half of the database": shortened("journal.db", 0.5),
    "an empty database": shortened("journal.db", 0),
    "no database": gone("journal.db"),
    "no database and no log": gone("journal.db", "journal.db-wal"),
    "no database and no backup": gone("journal.db", "journal.db-wal", "backups/before.tar.gz"),
    "the head of the log": flipped("journal.db-wal", lambda data: 17),
    "a page of the log": flipped("journal.db-wal", lambda data: 32 + 24 + 100),
    "a hole in the log": filled("journal.db-wal", lambda data: 32 + (24 + PAGE) * 2, 5000),
    "the sums of pages": filled("journal.sums", lambda data: 0, 40),
    "the state of a run": tampered("UPDATE run SET status = 'completed', seq = seq + 1 WHERE key = 1"),
    "checkpoints that are gone": tampered("DELETE FROM checkpoint"),
    "an event that is gone": tampered("DELETE FROM event WHERE seq = 3 AND run = (SELECT max(key) FROM run)"),
    "a large value": tampered("DELETE FROM blob"),
    "the search index": tampered("DELETE FROM search WHERE rowid < 20"),
    "a pack": in_git("objects/pack/pack-*.pack", lambda path: _change(path, 40, b"xxxx")),
    "the index of a pack": in_git("objects/pack/pack-*.idx", lambda path: _change(path, -60, b"xxxx")),
    "a ref": in_git("refs/holdfast/main", lambda path: _change(path, 0, b"abcd")),
    "a ref that is no name": in_git("refs/holdfast/main", lambda path: _change(path, 12, b"\r \n")),
    "no ref": in_git("refs/holdfast/main", lambda path: path.unlink()),
    "a backup": flipped("backups/before.tar.gz", lambda data: len(data) // 2),
    "database and pack": both(
        filled("journal.db", lambda data: _body(data) // PAGE * PAGE, PAGE),
        in_git("objects/pack/pack-*.pack", lambda path: _change(path, 40, b"xxxx")),
    ),
}


def a_damaged_store(name: str) -> Callable[[Path], None]:
    def prepare(directory: Path) -> None:
        a_full_store(directory)
        DAMAGES[name](directory)

    return prepare
