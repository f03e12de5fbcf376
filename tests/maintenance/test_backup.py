"""A store in one file, and back: consistent while others write, proven before it counts, and undone like anything."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.core.errors import Busy, Damaged, NotFound, Refused
from holdfast.core.model import Draft
from holdfast.journal.backup_file import Contents, Part, partial_path, write_archive
from holdfast.journal.sqlite import connection as connecting
from holdfast.journal.sqlite.copy import check_database, opened
from holdfast.maintenance.backup import put_packs, take_out, write_backup
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.crash.damage import write_back
from tests.faber_project import Faber
from tests.hook_calls import keep_by_hand
from tests.tools import Command


@pytest.fixture
def worked(project: Workspace) -> Workspace:
    """A project with a run, a large value, a checkpoint of a file and a copy of a state."""
    (project.root / "file").write_text("first\n")
    holdfast.start(project, "Keep it")
    holdfast.note(project, "a large text " * 200)
    holdfast.checkpoint(project, name="one")
    return project


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "kept.tar.gz"


def goals(workspace: Workspace) -> list[str]:
    return sorted(run.goal for run in holdfast.runs(workspace).runs)


def whole(workspace: Workspace) -> bool:
    return holdfast.verify(workspace, deep=True).problems == []


def test_without_a_store_there_is_nothing_to_keep_and_the_way_to_one_is_told(repository: Path, target: Path) -> None:
    """It said that a directory inside of `.git` does not exist."""
    with holdfast.open(repository) as workspace, pytest.raises(NotFound, match="no Holdfast store") as raised:
        holdfast.backup(workspace, str(target))
    assert raised.value.hints
    assert not target.exists()


def test_a_store_comes_back_as_it_was(worked: Workspace, target: Path) -> None:
    made = holdfast.backup(worked, str(target))
    assert (made.runs, made.checkpoints, made.format) == (1, 1, connecting.FORMAT)
    (worked.root / "file").write_text("second\n")
    holdfast.checkpoint(worked, name="two")
    holdfast.start(worked, "Another")
    found = holdfast.restore_backup(worked, str(target))
    assert (found.runs, found.events) == (made.runs, made.events)
    assert goals(worked) == ["Keep it"]
    assert [found.name for found in holdfast.checkpoints(worked).checkpoints] == ["one"]
    assert whole(worked)
    holdfast.restore(worked, "one", force=True)
    assert (worked.root / "file").read_text() == "first\n"


def test_putting_back_can_be_taken_back(worked: Workspace, target: Path) -> None:
    holdfast.backup(worked, str(target))
    holdfast.start(worked, "Another")
    (worked.root / "file").write_text("second\n")
    holdfast.checkpoint(worked, name="two")
    before = holdfast.restore_backup(worked, str(target)).before
    assert before is not None
    holdfast.restore_backup(worked, before)
    assert goals(worked) == ["Another", "Keep it"]
    assert [found.name for found in holdfast.checkpoints(worked).checkpoints] == ["two", "one"]
    assert whole(worked)


def test_a_backup_is_the_users_alone(worked: Workspace, target: Path) -> None:
    before = os.umask(0)
    try:
        holdfast.backup(worked, str(target))
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_stranger_can_read_it_with_tar(worked: Workspace, target: Path) -> None:
    holdfast.backup(worked, str(target))
    listed = subprocess.run(["tar", "tzf", str(target)], capture_output=True, text=True, check=True).stdout.split()
    assert {"journal.db", "refs.json", "manifest.json"} <= set(listed)
    assert target.stat().st_size < 100_000


def test_it_is_one_moment_while_others_write(worked: Workspace, target: Path) -> None:
    """Each commit adds two events: no copy may hold one of them alone."""
    stop = threading.Event()

    def write() -> None:
        with holdfast.open(worked.root) as other:
            run = holdfast.runs(other).runs[0].id
            while not stop.is_set():
                with other.writing() as journal:
                    journal.append(run, *(Draft("note.added", {"text": "n"}) for _ in range(2)))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = [holdfast.backup(worked, str(target), replace=True).events for _ in range(3)]
    finally:
        stop.set()
        writer.join()
    first = made[0]
    assert [(number - first) % 2 for number in made] == [0, 0, 0]
    holdfast.restore_backup(worked, str(target))
    assert whole(worked)


def test_calls_that_wait_are_in_it(worked: Workspace, target: Path) -> None:
    keep_by_hand(worked.inbox, b'{"number": 1}')
    write_backup(worked, target)
    holdfast.sweep(worked)
    holdfast.restore_backup(worked, str(target))
    assert len(os.listdir(worked.inbox)) == 1
    assert holdfast.sweep(worked).taken_in == 1


def test_a_file_that_is_there_is_not_replaced_unasked(worked: Workspace, target: Path) -> None:
    target.write_text("mine")
    with pytest.raises(Refused, match="with this name already"):
        holdfast.backup(worked, str(target))
    assert target.read_text() == "mine"


def test_a_backup_inside_the_store_is_refused(worked: Workspace) -> None:
    with pytest.raises(Refused, match="inside the store"):
        holdfast.backup(worked, str(worked.place / "kept.tar.gz"))


def parts_of(workspace: Workspace, directory: Path) -> list[Part]:
    """Two packs, as they lie in a backup, and the database."""
    sources = [("journal.db", b"rows"), *((f"packs/pack-{mark * 40}.pack", os.urandom(3_000_000)) for mark in "ab")]
    for name, data in sources:
        (directory / Path(name).name).write_bytes(data)
    return [Part(name, directory / Path(name).name) for name, _ in sources]


@pytest.fixture
def begun(worked: Workspace, tmp_path: Path, target: Path) -> list[Part]:
    """What a backup left that was killed in the middle of its second pack."""
    (tmp_path / "sources").mkdir()
    parts = parts_of(worked, tmp_path / "sources")
    if (pid := os.fork()) == 0:
        seen = 0

        def told(size: int) -> None:
            nonlocal seen
            seen += size
            if seen > 4_000_000:
                os.kill(os.getpid(), signal.SIGKILL)

        write_archive(target, parts, Contents(3, "", {}), told)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    return parts


def test_a_killed_backup_goes_on_where_it_was(begun: list[Part], target: Path) -> None:
    size = partial_path(target).stat().st_size
    assert 3_000_000 < size < 6_000_000
    compressed: list[int] = []
    with open(partial_path(target), "rb") as left:
        first = left.read(2_900_000)
    contents = write_archive(target, begun, Contents(3, "", {}), compressed.append)
    assert compressed[0] == 3_000_000, "the first pack was there, whole, and is told of at once"
    assert target.read_bytes().startswith(first)
    assert contents.parts.keys() == {part.name for part in begun}
    assert not partial_path(target).exists()
    with tarfile.open(target) as tar:
        for part in begun:
            found = tar.extractfile(part.name)
            assert found is not None
            assert found.read() == part.path.read_bytes()


@pytest.mark.parametrize(
    "change", ["a pack that is another now", "a pack that is gone", "a byte of it", "none of ours"]
)
def test_what_a_killed_backup_left_counts_only_as_far_as_it_is_right(
    begun: list[Part], target: Path, change: str
) -> None:
    left = partial_path(target)
    if change == "a pack that is another now":
        begun[1].path.write_bytes(os.urandom(3_000_000))
    elif change == "a pack that is gone":
        begun = [begun[0], begun[2]]
    elif change == "a byte of it":
        data = bytearray(left.read_bytes())
        data[1_000_000] ^= 1
        left.write_bytes(data)
    else:
        left.unlink()
        left.symlink_to(begun[0].path)
    write_archive(target, begun, Contents(3, "", {}), lambda size: None)
    with tarfile.open(target) as tar:
        assert set(tar.getnames()) == {"manifest.json", *(part.name for part in begun)}
    assert begun[0].path.read_bytes() == b"rows"


def test_two_backups_to_one_place_do_not_mix(begun: list[Part], target: Path) -> None:
    with open(partial_path(target), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Busy, match="Another backup"):
            write_archive(target, begun, Contents(3, "", {}), lambda size: None)
    assert partial_path(target).exists()


def test_a_damaged_store_is_not_backed_up_as_if_it_were_whole(worked: Workspace, target: Path) -> None:
    write_back(worked)
    worked.close()
    path = worked.place / "journal.db"
    data = bytearray(path.read_bytes())
    at = data.index(b"run.started")
    data[at - 200 : at + 200] = bytes(400)
    good = path.read_bytes()
    path.write_bytes(data)
    with pytest.raises(Damaged), holdfast.open(worked.root) as other:
        holdfast.backup(other, str(target))
    assert not target.exists()
    path.write_bytes(good)


def test_a_damaged_store_goes_aside_when_a_backup_is_put_back(worked: Workspace, target: Path) -> None:
    holdfast.backup(worked, str(target))
    worked.close()
    path = worked.place / "journal.db"
    path.write_bytes(b"not a database " * 1000)
    with holdfast.open(worked.root) as other:
        found = holdfast.restore_backup(other, str(target))
        assert (found.before, whole(other)) == (None, True)
        assert found.aside is not None
        assert (other.place / found.aside / "journal.db").read_bytes() == b"not a database " * 1000


class Meanwhile(TickingClock):
    """Somebody else writes whenever the time is asked for, as it is after the store was copied."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def now(self) -> datetime:
        with holdfast.open(self.root) as other:
            holdfast.note(other, "written meanwhile")
        return super().now()


def test_what_is_written_while_a_backup_is_put_back_stays_aside(worked: Workspace, target: Path) -> None:
    holdfast.backup(worked, str(target))
    with holdfast.open(worked.root, clock=Meanwhile(worked.root)) as slow:
        found = holdfast.restore_backup(slow, str(target))
    assert found.before is not None
    assert found.aside is not None
    kept = b"".join(path.read_bytes() for path in (worked.place / found.aside).iterdir())
    assert b"written meanwhile" in kept
    assert whole(worked)


def test_packs_that_were_put_back_are_put_back_again_where_a_tidying_took_them_away(
    worked: Workspace, target: Path, tmp_path: Path, clock: TickingClock
) -> None:
    holdfast.backup(worked, str(target))
    subprocess.run(["git", "init", "-q", str(tmp_path / "other")], check=True)
    (tmp_path / "room").mkdir()
    with holdfast.open(tmp_path / "other", clock=clock) as other:
        holdfast.start(other, "Another")
        take_out(other.store, target, tmp_path / "room")
        names = {path.name for path in (tmp_path / "room" / "packs").glob("*.idx")}
        put_packs(other, tmp_path / "room")
        holdfast.tidy(other)
        put_packs(other, tmp_path / "room")
        with shadow_of(other) as shadow:
            assert names
            assert {path.name for path in shadow.object_store.packs()} == names


def test_a_new_project_can_begin_from_a_backup(
    worked: Workspace, target: Path, tmp_path: Path, clock: TickingClock
) -> None:
    holdfast.backup(worked, str(target))
    subprocess.run(["git", "init", "-q", str(tmp_path / "other")], check=True)
    with holdfast.open(tmp_path / "other", clock=clock) as other:
        holdfast.restore_backup(other, str(target))
        assert (goals(other), whole(other)) == (["Keep it"], True)
        holdfast.restore(other, "one", force=True)
        assert (other.root / "file").read_text() == "first\n"


@pytest.fixture
def made(worked: Workspace, target: Path) -> Iterator[bytes]:
    holdfast.backup(worked, str(target))
    yield target.read_bytes()
    assert goals(worked) == ["Keep it"]


def unpacked(data: bytes) -> bytes | None:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


def test_every_byte_of_a_backup_counts(worked: Workspace, made: bytes, target: Path) -> None:
    for at in range(0, len(made), max(1, len(made) // 25)):
        damaged = bytearray(made)
        damaged[at] ^= 0x20
        if unpacked(bytes(damaged)) == unpacked(made):  # gzip's date, or a bit that fills a byte up: nobody reads it
            continue
        target.write_bytes(damaged)
        with pytest.raises(Damaged):
            holdfast.restore_backup(worked, str(target))


def test_a_file_that_is_no_backup_is_refused(worked: Workspace, made: bytes, target: Path) -> None:
    for content in (b"", b"text", made[: len(made) // 2], gzip.compress(b"no tar"), gzip.compress(b"")):
        target.write_bytes(content)
        with pytest.raises(Damaged):
            holdfast.restore_backup(worked, str(target))
    target.unlink()
    with pytest.raises(NotFound):
        holdfast.restore_backup(worked, str(target))


def repacked(made: bytes, change: dict[str, bytes]) -> bytes:
    """A backup with other parts, and no list that knows them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(made)) as old, tarfile.open(fileobj=out, mode="w:gz") as new:
        parts = {member.name: old.extractfile(member).read() for member in old}  # type: ignore[union-attr]
        for name, data in {**change, **parts}.items():
            head = tarfile.TarInfo(name)
            head.size = len(data)
            new.addfile(head, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize(
    "name",
    ["../escaped", "/etc/escaped", "inbox/../../escaped", "packs/pack-x.pack", "faces/x/y", "hooks/post-commit", "."],
)
def test_no_part_of_a_backup_leads_out_of_the_store(worked: Workspace, made: bytes, target: Path, name: str) -> None:
    target.write_bytes(repacked(made, {name: b"harm"}))
    with pytest.raises(Damaged):
        holdfast.restore_backup(worked, str(target))
    assert not list(worked.root.parent.rglob("escaped"))


def test_a_database_that_does_more_than_hold_rows_is_refused(worked: Workspace, target: Path, tmp_path: Path) -> None:
    copy = tmp_path / "journal.db"
    worked.store.backup(copy, lambda done, total: None)
    connection = apsw.Connection(str(copy))
    connection.execute("CREATE TRIGGER harm AFTER INSERT ON event BEGIN DELETE FROM run; END")
    connection.close()
    with opened(copy) as connection:
        about = Contents(connecting.FORMAT, "now", check_database(connection, copy))
    write_archive(target, [Part("journal.db", copy)], about, lambda size: None)
    with pytest.raises(Damaged, match="not made by Holdfast"):
        holdfast.restore_backup(worked, str(target))


def test_restoring_asks_and_nobody_is_there_to_say_yes(worked: Workspace, target: Path) -> None:
    holdfast.backup(worked, str(target))
    holdfast.start(worked, "Another")
    done = Command.run("restore-backup", str(target), directory=worked.root)
    assert (done.code, "--yes" in done.err) == (1, True)
    assert goals(worked) == ["Another", "Keep it"]
    done = Command.run("restore-backup", str(target), "--yes", "--json", directory=worked.root)
    assert (done.code, goals(worked)) == (0, ["Keep it"])


def test_a_process_that_had_the_old_database_open_writes_into_the_new_one(worked: Workspace, target: Path) -> None:
    holdfast.backup(worked, str(target))
    with holdfast.open(worked.root) as other:
        assert goals(other) == ["Keep it"]
        script = f"import holdfast; holdfast.restore_backup(holdfast.open({str(worked.root)!r}), {str(target)!r})"
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
        holdfast.note(other, "written afterwards")
        assert holdfast.runs(other).runs[0].notes[-1].text == "written afterwards"
    assert holdfast.runs(worked).runs[0].notes[-1].text == "written afterwards"


def test_a_store_with_a_file_of_a_long_name_can_be_kept_and_put_back(faber: Faber, tmp_path: Path) -> None:
    """A copy of a state file has the run's id in its name. Of more than a hundred bytes, tar keeps it by itself."""
    faber.put()
    faber.load()
    names = [str(path.relative_to(faber.workspace.place)) for path in faber.workspace.place.rglob("*")]
    assert max(map(len, names)) > 100, "no name is long enough to prove anything"
    holdfast.backup(faber.workspace, str(tmp_path / "kept.tar.gz"))
    with holdfast.open(faber.root) as workspace:
        assert holdfast.restore_backup(workspace, str(tmp_path / "kept.tar.gz")).runs == 1
