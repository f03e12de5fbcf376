"""A directory that is to hold a store must be the user's alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.core.errors import Refused, Trouble
from holdfast.system import files, locate

pytestmark = pytest.mark.promise(22)

SOMEBODY = 65534


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "holdfast"
    place.mkdir(mode=0o700)
    return place


def somebody_elses_directory(tmp_path: Path) -> Path:
    """Root can give one away; everybody else finds one that is root's."""
    if os.geteuid() != 0:
        return Path("/usr")
    place = tmp_path / "theirs"
    place.mkdir(mode=0o700)
    os.chown(place, SOMEBODY, SOMEBODY)
    return place


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o500])
def test_directory_that_only_its_owner_can_write_to_is_private(place: Path, mode: int) -> None:
    place.chmod(mode)
    files.check_private(place)
    os.close(locate.open_ours(str(place)))


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777, 0o1777, 0o2775])
def test_directory_that_others_can_write_to_is_refused(place: Path, mode: int) -> None:
    place.chmod(mode)
    with pytest.raises(Refused, match="Others can write") as refused:
        files.check_private(place)
    assert refused.value.hints == [f"`chmod go-w {place}`"]
    with pytest.raises(OSError, match="is not ours"):
        locate.open_ours(str(place))


def test_link_to_a_private_directory_is_refused(place: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(place)
    with pytest.raises(Refused, match="not a directory"):
        files.check_private(link)
    with pytest.raises(Refused, match="not a directory"):
        files.make_private_directory(link)
    with pytest.raises(NotADirectoryError):
        locate.open_ours(str(link))


def test_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Refused, match="not a directory"):
        files.check_private(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        locate.open_ours(str(tmp_path / "file"))


def test_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    place = somebody_elses_directory(tmp_path)
    with pytest.raises(Refused, match="another user") as refused:
        files.check_private(place)
    assert dict(refused.value.facts)["owner"] == str(place.stat().st_uid)
    with pytest.raises(OSError, match="is not ours"):
        locate.open_ours(str(place))


def test_nothing_is_not_private(tmp_path: Path) -> None:
    with pytest.raises(Trouble):
        files.check_private(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        locate.open_ours(str(tmp_path / "missing"))


def test_directory_that_is_there_is_taken_as_it_is(place: Path) -> None:
    place.chmod(0o750)
    files.make_private_directory(place)
    assert place.stat().st_mode & 0o777 == 0o750


def test_parents_of_a_private_directory_are_made(tmp_path: Path) -> None:
    files.make_private_directory(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").stat().st_mode & 0o777 == 0o700
