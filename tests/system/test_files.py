"""Writing a file whole or not at all, keeping good versions of it, and reading only what is a file."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from holdfast.core.errors import HoldfastError, Refused, Trouble
from holdfast.system import files, safe_paths
from holdfast.system.shared_files import KEPT, Generations
from tests.environments import humble


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# write


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(versions=st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_file_holds_what_was_written_last(tmp_path: Path, versions: list[bytes]) -> None:
    path = tmp_path / "file"
    for data in versions:
        files.write(path, data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.promise(3, 22)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o400])
def test_mode_of_a_file_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    files.write(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


def test_mode_that_is_asked_for_wins(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write(path, b"one", 0o644)
    assert mode_of(path) == 0o644
    files.write(path, b"two", 0o600)
    assert mode_of(path) == 0o600


@pytest.mark.promise(22)
@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
def test_new_file_and_new_directory_are_the_users_alone_under_any_umask(tmp_path: Path, umask: int) -> None:
    script = """
import sys
from pathlib import Path
from holdfast.system import files
files.make_private_directory(Path(sys.argv[1]))
files.write(Path(sys.argv[1], "file"), b"data")
with files.lock(Path(sys.argv[1], "lock"), 1):
    pass
"""
    place = tmp_path / "private"
    subprocess.run([sys.executable, "-c", script, str(place)], umask=umask, env=os.environ, check=True, timeout=60)
    assert mode_of(place) == 0o700
    assert mode_of(place / "file") == 0o600
    assert mode_of(place / "lock") & 0o077 == 0


def test_temporary_file_stands_beside_the_target_under_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed: list[tuple[Path, Path]] = []
    rename = os.rename

    def watched(source: Path, target: Path) -> None:
        renamed.append((source, target))
        assert mode_of(source) == 0o600
        rename(source, target)

    monkeypatch.setattr(os, "rename", watched)
    for _ in range(3):
        files.write(tmp_path / "file", b"data")
    sources = [source for source, _ in renamed]
    assert len(set(sources)) == 3
    assert {source.parent for source in sources} == {tmp_path}


FAILING = [
    ("write", errno.ENOSPC),
    ("write", errno.EDQUOT),
    ("write", errno.EFBIG),
    ("fchmod", errno.EPERM),
    ("fsync", errno.EIO),
    ("rename", errno.EROFS),
]


@pytest.mark.promise(5)
@pytest.mark.parametrize(("call", "code"), FAILING)
def test_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    path = tmp_path / "file"
    files.write(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(Trouble) as trouble:
        files.write(path, b"new")
    monkeypatch.undo()
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])
    assert dict(trouble.value.facts)["path"] == str(path)
    assert trouble.value.hints


def test_disk_that_returns_other_bytes_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write(path, b"old")
    monkeypatch.setattr(os, "pread", lambda *_: b"something else")
    with pytest.raises(Trouble):
        files.write(path, b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])


@pytest.mark.promise(22)
def test_link_is_never_written_through_and_its_mode_is_not_taken_over(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"somebody else's")
    link.symlink_to(target)
    try:
        files.write(link, b"ours")
    except HoldfastError:
        assert link.is_symlink()
    else:
        assert mode_of(link) == 0o600
    assert target.read_bytes() == b"somebody else's"


def test_directory_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(Trouble):
        files.write(tmp_path / "directory", b"data")
    assert os.listdir(tmp_path) == ["directory"]


@pytest.mark.parametrize("name", ["missing/file", "file/below"])
def test_place_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Trouble) as trouble:
        files.write(tmp_path / name, b"data")
    assert name.partition("/")[0] in dict(trouble.value.facts)["path"]


@pytest.mark.promise(5)
def test_directory_without_permission_is_a_trouble_with_a_remedy(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    script = """
import sys
from pathlib import Path
from holdfast.core import errors; from holdfast.system import files
try:
    files.write(Path(sys.argv[1], "file"), b"data")
except errors.Trouble as trouble:
    print(trouble.message, trouble.hints)
"""
    command = [*humble(), sys.executable, "-c", script, str(closed)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True, timeout=60)
    assert "Permission is denied" in done.stdout
    assert "ls -ld" in done.stdout
    assert os.listdir(closed) == []


# read


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    path.with_name("real").write_bytes(b"outside")
    path.symlink_to("real")


def make_socket(path: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


def make_giant(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(10 * 1024**3)


@pytest.mark.promise(22)
@pytest.mark.parametrize("make", [make_fifo, make_link, make_socket, make_giant, Path.mkdir])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "odd")
    open_before = os.listdir("/proc/self/fd")
    with pytest.raises(Refused) as refused:
        files.read(tmp_path / "odd")
    assert dict(refused.value.facts)["path"] == str(tmp_path / "odd")
    assert os.listdir("/proc/self/fd") == open_before


@pytest.mark.promise(22)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_device_is_refused(device: str) -> None:
    with pytest.raises(Refused):
        files.read(Path(device))


def test_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert files.read(tmp_path / "missing") is None
    assert files.read(tmp_path / "missing" / "below") is None


@pytest.mark.parametrize(("size", "allowed"), [(9, True), (10, True), (11, False)])
def test_limit_of_a_file_is_the_last_size_that_is_read(tmp_path: Path, size: int, allowed: bool) -> None:
    (tmp_path / "file").write_bytes(b"x" * size)
    if allowed:
        assert files.read(tmp_path / "file", 10) == b"x" * size
    else:
        with pytest.raises(Refused, match="too large"):
            files.read(tmp_path / "file", 10)


def test_removing_twice_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    files.remove(tmp_path / "file")
    files.remove(tmp_path / "file")
    assert os.listdir(tmp_path) == []


# generations


@pytest.fixture
def kept(tmp_path: Path) -> Generations:
    return Generations(tmp_path / "kept")


def versions(kept: Generations) -> list[Path]:
    """The files of the versions, the oldest first."""
    return sorted(path for path in kept.directory.rglob("*") if path.is_file())


def test_last_two_generations_stay_the_newest_first(kept: Generations, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert kept.find(path) == []
    for number in range(1, 6):
        kept.keep(path, b"version %d" % number)
        assert kept.find(path) == [b"version %d" % n for n in (number, number - 1) if n]
    assert len(versions(kept)) == KEPT


def test_version_that_is_kept_already_is_not_kept_again(kept: Generations, tmp_path: Path) -> None:
    for data in (b"one", b"two", b"two", b"two"):
        kept.keep(tmp_path / "state.json", data)
    assert kept.find(tmp_path / "state.json") == [b"two", b"one"]


def test_files_of_the_same_name_do_not_share_generations(kept: Generations, tmp_path: Path) -> None:
    kept.keep(tmp_path / "a" / "state.json", b"a")
    kept.keep(tmp_path / "b" / "state.json", b"b")
    assert kept.find(tmp_path / "a" / "state.json") == [b"a"]


@pytest.mark.promise(22)
def test_generations_are_the_users_alone(kept: Generations, tmp_path: Path) -> None:
    kept.keep(tmp_path / "state.json", b"data")
    assert {mode_of(path) for path in kept.directory.rglob("*") if path.is_dir()} == {0o700}
    assert {mode_of(path) for path in versions(kept)} == {0o600}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def link_elsewhere(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.with_name("elsewhere").write_bytes(data)
    path.symlink_to("elsewhere")


def become_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [flip, cut, empty, link_elsewhere, become_directory]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("which", "left"), [(0, [b"two"]), (1, [b"one"])], ids=["older", "newer"])
def test_damaged_generation_is_never_offered_and_hides_no_other(
    kept: Generations, tmp_path: Path, damage: Callable[[Path], None], which: int, left: list[bytes]
) -> None:
    for data in (b"one", b"two"):
        kept.keep(tmp_path / "state.json", data)
    damage(versions(kept)[which])
    assert kept.find(tmp_path / "state.json") == left


@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_damaged_generation_does_not_push_out_a_good_one(
    kept: Generations, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    for data in (b"one", b"two"):
        kept.keep(tmp_path / "state.json", data)
    damage(versions(kept)[1])
    kept.keep(tmp_path / "state.json", b"three")
    assert kept.find(tmp_path / "state.json") == [b"three", b"one"]


@pytest.mark.promise(19)
def test_a_path_that_holds_a_nul_leads_nowhere_else(tmp_path: Path) -> None:
    assert safe_paths.real_path(f"{tmp_path}/a\0b") == f"{tmp_path}/a\0b"
