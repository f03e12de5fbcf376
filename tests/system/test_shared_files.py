"""Files that strangers write too: none of their changes is overwritten, whatever they know of us."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.core.errors import Refused, Trouble
from holdfast.system import files, shared_files
from tests.promises import Figure

FEW, MANY = 100, 1_000  # rounds, of three changes each


@pytest.fixture(params=["exchange", "renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By the system's own exchange of two names, and by renames where a file system has none."""
    if request.param == "renames":
        monkeypatch.setattr(shared_files, "_exchange_call", lambda: lambda one, other: errno.ENOSYS)
    name: str = request.param
    return name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def alone(path: Path) -> bool:
    """Nothing of ours lies beside the file."""
    return os.listdir(path.parent) == [path.name]


@pytest.mark.usefixtures("way")
def test_file_that_is_as_expected_is_replaced(path: Path) -> None:
    path.write_bytes(b"old")
    path.chmod(0o640)
    assert shared_files.replace_shared(path, b"old", b"new") is None
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert alone(path)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("theirs", [b"theirs", b"", b"old but longer"])
def test_change_of_a_stranger_comes_back_and_stays(path: Path, theirs: bytes) -> None:
    path.write_bytes(theirs)
    inode = path.stat().st_ino
    assert shared_files.replace_shared(path, b"old", b"ours") == theirs
    assert path.read_bytes() == theirs
    assert path.stat().st_ino == inode
    assert alone(path)


def test_file_is_created_only_where_there_is_none(path: Path) -> None:
    assert shared_files.replace_shared(path, None, b"ours") is None
    assert shared_files.replace_shared(path, None, b"again") == b"ours"
    assert path.read_bytes() == b"ours"
    assert path.stat().st_mode & 0o777 == 0o600
    assert alone(path)


@pytest.mark.usefixtures("way")
def test_file_that_a_stranger_removed_is_not_made_again(path: Path) -> None:
    with pytest.raises(Trouble):
        shared_files.replace_shared(path, b"old", b"ours")
    assert os.listdir(path.parent) == []


def become_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def become_giant(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(files.READ_LIMIT + 1)


def become_directory(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_bytes(b"theirs")


def become_fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.promise(13, 22)
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("become", [become_link, become_giant, become_directory, become_fifo])
def test_what_a_stranger_put_in_the_place_of_the_file_stays_there(path: Path, become: Callable[[Path], None]) -> None:
    become(path)
    theirs = path.lstat()
    with pytest.raises(Refused):
        shared_files.replace_shared(path, b"old", b"ours")
    assert alone(path)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (theirs.st_ino, theirs.st_mode)


def test_file_system_without_exchange_is_served_by_renames(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    for code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        monkeypatch.setattr(shared_files, "_exchange_call", lambda code=code: lambda one, other: code)
        assert shared_files.replace_shared(path, path.read_bytes(), b"new %d" % code) is None
        assert path.read_bytes() == b"new %d" % code


def test_other_failure_of_the_exchange_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old")
    monkeypatch.setattr(shared_files, "_exchange_call", lambda: lambda one, other: errno.EIO)
    with pytest.raises(Trouble):
        shared_files.replace_shared(path, b"old", b"new")
    assert (path.read_bytes(), alone(path)) == (b"old", True)


def rename_over(path: Path, data: bytes) -> None:
    other = path.with_name("stranger.tmp")
    other.write_bytes(data)
    other.rename(path)


def write_in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


@pytest.mark.promise(13)
@pytest.mark.parametrize("write", [rename_over, write_in_place])
@pytest.mark.parametrize("expected", [b"theirs, first", b"old"], ids=["right", "stale"])
def test_change_in_the_middle_of_the_exchange_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None], expected: bytes
) -> None:
    """A stranger writes once more right after our file has taken the place of theirs."""
    path.write_bytes(b"theirs, first")
    exchange, calls = shared_files._exchange, iter(range(10))

    def exchange_and_be_disturbed(one: Path, other: Path) -> None:
        exchange(one, other)
        if next(calls) == 0:
            write(path, b"theirs, newest")

    monkeypatch.setattr(shared_files, "_exchange", exchange_and_be_disturbed)
    shared_files.replace_shared(path, expected, b"ours")
    assert path.read_bytes() == b"theirs, newest"
    assert alone(path)


# Taking away


def test_file_that_is_as_expected_is_taken_away(path: Path) -> None:
    path.write_bytes(b"old")
    assert shared_files.remove_shared(path, b"old") is None
    assert shared_files.remove_shared(path, b"old") is None
    assert os.listdir(path.parent) == []


@pytest.mark.promise(13)
@pytest.mark.parametrize("theirs", [b"theirs", b"", b"old but longer"])
def test_what_a_stranger_wrote_before_a_file_is_taken_away_comes_back(path: Path, theirs: bytes) -> None:
    path.write_bytes(theirs)
    inode = path.stat().st_ino
    assert shared_files.remove_shared(path, b"old") == theirs
    assert (path.read_bytes(), path.stat().st_ino) == (theirs, inode)
    assert alone(path)


@pytest.mark.promise(13)
def test_what_a_stranger_writes_while_a_file_is_taken_away_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"theirs")
    read = files.read

    def read_and_be_disturbed(place: Path) -> bytes | None:
        rename_over(path, b"theirs, newest")
        return read(place)

    monkeypatch.setattr(files, "read", read_and_be_disturbed)
    assert shared_files.remove_shared(path, b"old") == b"theirs"
    assert path.read_bytes() == b"theirs, newest"
    assert alone(path)


@pytest.mark.parametrize("become", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_what_is_no_file_is_not_taken_away(path: Path, become: Callable[[Path], None]) -> None:
    become(path)
    with pytest.raises(Refused):
        shared_files.remove_shared(path, b"old")
    assert alone(path)


REMOVE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from holdfast.system import shared_files as sharing

path, how = Path(sys.argv[1]), sys.argv[2]
rename, link = os.rename, os.link


def die_after(act, when):
    def acting(*arguments):
        act(*arguments)
        if how in when:
            os.kill(os.getpid(), signal.SIGKILL)
    return acting


os.rename, os.link = die_after(rename, ("ours", "theirs")), die_after(link, ("given back",))
sharing.remove_shared(path, b"old")
"""


@pytest.mark.promise(13)
@pytest.mark.parametrize("how", ["ours", "theirs", "given back"])
@pytest.mark.parametrize("newer", [False, True], ids=["gone", "written again"])
def test_what_a_kill_left_of_a_file_that_was_taken_away_comes_back(path: Path, how: str, newer: bool) -> None:
    path.write_bytes(b"old" if how == "ours" else b"theirs")
    done = subprocess.run([sys.executable, "-c", REMOVE_AND_DIE, str(path), how], check=False)
    assert done.returncode == -signal.SIGKILL
    if newer:
        rename_over(path, b"theirs, newest")
    shared_files.settle(path)
    if newer:
        assert path.read_bytes() == b"theirs, newest"
        assert alone(path) == (how == "ours")  # nobody knows then which of two belongs there: both are kept
    else:
        assert [found.read_bytes() for found in path.parent.iterdir()] == ([] if how == "ours" else [b"theirs"])
        assert path.exists() == (how != "ours")


# A kill in the middle

EXCHANGE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from holdfast.system import shared_files as sharing

path, how = Path(sys.argv[1]), sys.argv[2]
exchange = sharing._exchange


def disturbed(one, other):
    if how in ("between", "and again"):
        Path(f"{path}.stranger").write_bytes(b"theirs")
        os.rename(f"{path}.stranger", path)
    exchange(one, other)
    if how == "and again":
        Path(f"{path}.stranger").write_bytes(b"theirs, newest")
        os.rename(f"{path}.stranger", path)
    os.kill(os.getpid(), signal.SIGKILL)


sharing._exchange = disturbed
sharing.replace_shared(path, b"old", b"ours")
"""


@pytest.fixture
def killed(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A writer that is killed right after its exchange, a while ago."""

    def kill(how: str) -> None:
        path.write_bytes(b"old")
        done = subprocess.run([sys.executable, "-c", EXCHANGE_AND_DIE, str(path), how], check=False)
        assert done.returncode == -signal.SIGKILL
        monkeypatch.setattr(shared_files, "STALE", 0.0)

    return kill


@pytest.mark.promise(13)
def test_a_change_that_a_kill_left_aside_comes_back(path: Path, killed: Callable[[str], None]) -> None:
    """It lay under our temporary name, and nobody ever looked there."""
    killed("between")
    assert path.read_bytes() == b"ours"
    shared_files.settle(path)
    assert path.read_bytes() == b"theirs"
    assert alone(path)


@pytest.mark.promise(13)
def test_the_next_writer_meets_a_change_that_a_kill_left_aside(path: Path, killed: Callable[[str], None]) -> None:
    killed("between")
    assert shared_files.replace_shared(path, b"ours", b"ours, again") == b"theirs"
    assert path.read_bytes() == b"theirs"
    assert alone(path)


@pytest.mark.promise(13)
def test_what_is_newer_than_a_change_that_was_left_aside_stays(path: Path, killed: Callable[[str], None]) -> None:
    """Nobody knows then what belongs there: both are kept."""
    killed("and again")
    shared_files.settle(path)
    assert path.read_bytes() == b"theirs, newest"
    (left,) = set(os.listdir(path.parent)) - {path.name}
    assert (path.parent / left).read_bytes() == b"theirs"


def test_what_a_kill_left_of_our_own_goes(path: Path, killed: Callable[[str], None]) -> None:
    killed("alone")
    assert not alone(path)
    shared_files.settle(path)
    assert path.read_bytes() == b"ours"
    assert alone(path)


def test_an_exchange_that_goes_on_now_is_left_alone(path: Path, killed: Callable[[str], None]) -> None:
    killed("between")
    shared_files.settle(path, 60.0)
    assert path.read_bytes() == b"ours"


@pytest.mark.promise(22)
@pytest.mark.parametrize("become", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_what_only_looks_as_if_a_kill_had_left_it_stops_nobody(path: Path, become: Callable[[Path], None]) -> None:
    path.write_bytes(b"old")
    become(path.with_name(f".{path.name}.{shared_files._mark(b'x')}{shared_files._mark(b'old')}00000000"))
    shared_files.settle(path)
    assert shared_files.replace_shared(path, b"old", b"new") is None
    assert path.read_bytes() == b"new"


@pytest.mark.promise(13)
def test_a_giving_back_that_fails_throws_nothing_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be put back was removed with our own temporary file."""
    path.write_bytes(b"theirs")
    exchange, calls = shared_files._exchange, iter(range(10))

    def fail_the_second_time(one: Path, other: Path) -> None:
        if next(calls):
            raise OSError(errno.EIO, "no")
        exchange(one, other)

    monkeypatch.setattr(shared_files, "_exchange", fail_the_second_time)
    with pytest.raises(Trouble):
        shared_files.replace_shared(path, b"old", b"ours")
    monkeypatch.undo()
    shared_files.settle(path)
    assert path.read_bytes() == b"theirs"


STRANGER = """
import json, os, sys
path, mine = sys.argv[1], 0
for line in sys.stdin:
    for _ in range(3):
        mine += 1
        with open(path + ".stranger", "w") as file:
            json.dump({"theirs": mine}, file)
        os.rename(path + ".stranger", path)
    print(mine, flush=True)
"""


class Stranger:
    """A program that replaces the file whenever it likes, and has never heard of our lock.

    One that writes in place is not tried by chance: between the moment when the kernel finds the file for it and the
    moment when it empties the file, nobody can see that it is there.
    """

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", STRANGER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def acknowledged(self) -> int:
        assert self.process.stdout
        return int(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture
def stranger(path: Path) -> Iterator[Stranger]:
    path.write_text(json.dumps({"theirs": 0}))
    stranger = Stranger(path)
    yield stranger
    stranger.end()


def add_ours(path: Path, number: int) -> bool:
    """Put our number beside theirs, unless they have just written; whether it worked."""
    found = files.read(path) or b""
    ours = json.dumps({**json.loads(found), "ours": number})
    return shared_files.replace_shared(path, found, ours.encode()) is None


def keep_all_of_theirs(path: Path, stranger: Stranger, rounds: int, figure: Figure) -> None:
    overwritten, succeeded = [], 0
    for number in range(rounds):
        stranger.begin()
        succeeded += sum(add_ours(path, number) for _ in range(3))
        newest = stranger.acknowledged()
        if json.loads(path.read_bytes())["theirs"] != newest:
            overwritten.append(newest)
    assert overwritten == []
    assert succeeded
    figure("changes of a stranger", newest)


@pytest.mark.promise(13)
def test_no_change_of_a_stranger_who_ignores_our_lock_is_overwritten(
    path: Path, stranger: Stranger, figure: Figure
) -> None:
    keep_all_of_theirs(path, stranger, FEW, figure)


@pytest.mark.long
@pytest.mark.promise(13)
def test_none_of_3000_changes_of_a_stranger_is_overwritten(path: Path, stranger: Stranger, figure: Figure) -> None:
    keep_all_of_theirs(path, stranger, MANY, figure)


def write_without_looking(path: Path, number: int) -> None:
    found = json.loads(path.read_bytes())
    files.write(path, json.dumps({**found, "ours": number}).encode())


@pytest.mark.promise(13)
def test_a_writer_that_does_not_look_is_caught_by_the_same_stranger(path: Path, stranger: Stranger) -> None:
    """Read, change, replace, as most programs do: sooner or later what somebody wrote in between is gone."""
    for number in range(MANY):
        stranger.begin()
        for _ in range(3):
            write_without_looking(path, number)
        if json.loads(path.read_bytes())["theirs"] != stranger.acknowledged():
            return
    pytest.fail("nothing was overwritten, so this test proves nothing")
