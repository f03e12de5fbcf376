"""Race between opening a database and its replacement by another: writes reach the database that is in place."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.core.errors import Busy
from holdfast.journal.sqlite import connection as connecting, store as sqlite
from holdfast.journal.sqlite.connection import connect
from holdfast.journal.sqlite.copy import replace_database
from holdfast.journal.sqlite.store import SqliteStore
from holdfast.project.workspace import Workspace
from holdfast.system import files
from tests.contract.makers import add_run
from tests.tools import Command

pytestmark = pytest.mark.promise(1, 12)

Swap = Callable[[], None]
Hook = Callable[[pytest.MonkeyPatch, Swap], None]


def before_it_is_opened(monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    def connect_late(path: Path, **options: Any) -> apsw.Connection:
        swap()
        return connect(path, **options)

    monkeypatch.setattr(sqlite, "connect", connect_late)


def before_its_log_is_opened(monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    """Swap before the first statement, at which SQLite opens the log by name: it is that of the new database."""

    class Late(apsw.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            swap()

    class Module:
        Connection = Late

        def __getattr__(self, name: str) -> Any:
            return getattr(apsw, name)

    monkeypatch.setattr(connecting, "apsw", Module())


def when_it_was_opened(monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    def connect_early(path: Path, **options: Any) -> apsw.Connection:
        connection = connect(path, **options)
        swap()
        return connection

    monkeypatch.setattr(sqlite, "connect", connect_early)


def while_it_waits_to_be_brought_up_to_date(monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    @contextlib.contextmanager
    def lock_late(path: Path, deadline: float) -> Iterator[None]:
        swap()
        with files.lock(path, deadline):
            yield

    monkeypatch.setattr(sqlite, "lock", lock_late)


MOMENTS = [before_it_is_opened, before_its_log_is_opened, when_it_was_opened]


def runs_of(path: Path) -> list[str]:
    store = SqliteStore(path)
    with store.reading() as reader:
        found = reader.all_run_ids()
    store.close()
    return sorted(found)


def add(path: Path, *runs: str) -> None:
    store = SqliteStore(path)
    for run in runs:
        with store.writing() as writer:
            add_run(writer, run, "word")
    store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "journal.db"


@pytest.fixture
def swap(path: Path, tmp_path: Path) -> Swap:
    """Replace the database at the path once, as a repair does; then other processes write to it."""
    files.make_private_directory(path.parent)
    files.make_private_directory(tmp_path / "other")
    add(tmp_path / "other" / "journal.db", "run-of-the-backup")
    waiting = [tmp_path / "other" / "journal.db"]

    def swap() -> None:
        if waiting:
            new = waiting.pop()
            with files.lock(path.with_name("lock"), 1.0):
                replace_database(path, new, path.with_name("aside"))
            add(path, "run-of-another", "run-of-a-third")

    return swap


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_store_that_is_replaced_while_it_is_opened_is_written_where_others_find_it(
    moment: Hook, path: Path, swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(path, "run-of-before")
    moment(monkeypatch, swap)
    add(path, "run-of-mine")
    assert runs_of(path) == ["run-of-a-third", "run-of-another", "run-of-mine", "run-of-the-backup"]


def test_a_store_that_is_replaced_while_its_first_opener_waits_is_not_made_there_once_more(
    path: Path, swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch(0o600)
    while_it_waits_to_be_brought_up_to_date(monkeypatch, swap)
    add(path, "run-of-mine")
    assert runs_of(path) == ["run-of-a-third", "run-of-another", "run-of-mine", "run-of-the-backup"]


def test_whoever_finds_another_store_each_time_gives_up_and_says_so(
    path: Path, swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(path, "run-of-before")

    def exchange() -> None:
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        copy.rename(path)

    when_it_was_opened(monkeypatch, exchange)
    with pytest.raises(Busy, match="Other processes keep replacing"):
        SqliteStore(path).open()


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_note_that_is_acknowledged_while_a_backup_is_put_back_is_there_afterwards(
    moment: Hook, project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is opened through a directory descriptor, as commands do, and the restore is another process."""
    holdfast.start(project, "goal")
    backup = tmp_path / "kept.tar.gz"
    holdfast.backup(project, str(backup))
    codes: list[int] = []

    def swap() -> None:
        if not codes:
            codes.append(-1)
            codes[0] = Command.run("restore-backup", str(backup), "--yes", directory=project.root).code

    with monkeypatch.context() as patched, holdfast.open(project.root) as other:
        moment(patched, swap)
        holdfast.note(other, "acknowledged")
    assert codes == [0]
    assert [note.text for note in holdfast.runs(project).runs[0].notes] == ["acknowledged"]
