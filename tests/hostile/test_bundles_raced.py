"""Promise 22: what somebody puts in the place of an exported run, while it is written or read, leads us nowhere."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Damaged, HoldfastError, Refused
from holdfast.project.transfer import bundle, import_plan
from holdfast.project.workspace import Workspace
from tests.file_trees import tree_of
from tests.hostile.forged_bundles import an_event_with, parts_of, sealed
from tests.hostile.swapped_paths import meanwhile, swapped
from tests.promises import Figure

pytestmark = pytest.mark.promise(22)

each_number = pytest.mark.parametrize("tries", [40, pytest.param(2_000, marks=pytest.mark.long)])
MOST = 1 << 24
NAME = "run.holdfast"
WRITE_IN_TURN = """
import itertools, os, sys
file, *contents = sys.argv[1:]
target, data = os.open(file, os.O_WRONLY), [open(each, "rb").read() for each in contents]
parent = os.getppid()
print("ready", flush=True)
for content in itertools.cycle(data):
    os.pwrite(target, content, 0)
    if os.getppid() != parent:  # whoever has begun it was killed
        break
"""


@pytest.fixture
def run(project: Workspace) -> str:
    return holdfast.start(project, "goal").run.id


@pytest.fixture
def here(tmp_path: Path, project: Workspace, run: str) -> Path:
    """A directory with an exported run, which may be replaced."""
    return exported(project, run, tmp_path / "here")


@pytest.fixture
def elsewhere(tmp_path: Path, project: Workspace, run: str) -> Path:
    """Another one, which nobody named."""
    return exported(project, run, tmp_path / "elsewhere")


def exported(project: Workspace, run: str, directory: Path) -> Path:
    directory.mkdir()
    holdfast.export(project, run, directory / NAME)
    return directory


def export_often(project: Workspace, run: str, path: Path, tries: int) -> tuple[int, int]:
    """How often it was written, and how often refused: each of it at least once, if it must be by many tries."""
    done = refused = 0
    while done + refused < tries or (not min(done, refused) and done + refused < 100 * tries):
        try:
            holdfast.export(project, run, path)
            done += 1
        except HoldfastError:
            refused += 1
    return done, refused


@each_number
def test_an_export_is_never_written_through_a_link_in_the_place_of_its_file(
    tries: int, project: Workspace, run: str, here: Path, elsewhere: Path, figure: Figure
) -> None:
    before = tree_of(elsewhere)
    with swapped(here / NAME, elsewhere / NAME):
        done, refused = export_often(project, run, here / NAME, tries)
    assert tree_of(elsewhere) == before
    assert min(done, refused) > 0, f"written {done}, refused {refused}: nothing was swapped"
    assert [name for name in os.listdir(here) if name.startswith(".")] == []
    figure("exports to a file that becomes a link", tries)


@each_number
def test_an_export_into_a_directory_that_becomes_a_link_leaves_nothing_but_whole_files(
    tries: int, project: Workspace, run: str, here: Path, elsewhere: Path
) -> None:
    """The user names the directory, so that a link there may be followed: once, and not half of the way."""
    with swapped(here, elsewhere):
        for _ in range(tries):
            holdfast.export(project, run, here / NAME)
    for directory in (here, elsewhere):
        assert os.listdir(directory) == [NAME]
        with bundle.opened(directory / NAME, MOST) as incoming:
            import_plan.check(incoming, MOST)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_was_put_there_while_an_export_is_written_is_not_replaced(kind: str, tmp_path: Path) -> None:
    path, other = tmp_path / NAME, tmp_path / "other"
    other.write_text("of somebody else\n")
    with pytest.raises(Refused, match="another file") as error, bundle.written(path):
        path.symlink_to(other) if kind == "link" else path.write_text("of somebody else\n")
    assert dict(error.value.facts)["path"] == str(path)
    assert (path.read_text(), path.is_symlink()) == ("of somebody else\n", kind == "link")
    assert sorted(os.listdir(tmp_path)) == ["other", NAME]


@pytest.fixture
def versions(file: Path, tmp_path: Path) -> list[Path]:
    """Two exported runs of the same length, both whole, in which every event has other bytes."""
    found = []
    for number in (1, 2):
        parts = parts_of(file)
        an_event_with(b'"%s"' % (b"%d" % number * 20_000))(parts)
        parts["events"] = parts["events"].replace(b'"goal":"goal"', b'"goal":"%d"' % number)
        found.append(tmp_path / f"{number}")
        found[-1].write_bytes(sealed(parts))
    assert len({path.stat().st_size for path in found}) == 1
    return found


def taken_in(path: Path) -> bytes | None:
    """The events of a file that was proven; None where it was refused before or after that."""
    try:
        with bundle.opened(path, MOST) as incoming:
            import_plan.check(incoming, MOST)
            return b"".join(incoming.read("events"))
    except (Damaged, Refused):
        return None


@each_number
@pytest.mark.parametrize("how", ["becomes a link", "is written over"])
def test_an_import_takes_in_one_file_whole_whatever_is_put_in_its_place(
    how: str, tries: int, versions: list[Path], tmp_path: Path, figure: Figure
) -> None:
    path, known = tmp_path / NAME, [parts_of(version)["events"] for version in versions]
    path.write_bytes(versions[0].read_bytes())
    found = []
    with swapped(path, versions[1]) if how == "becomes a link" else meanwhile(WRITE_IN_TURN, path, *versions):
        for number in itertools.count():
            if number >= tries and (None in found or number >= 100 * tries):
                break
            found.append(taken_in(path))
    assert {*found} <= {None, *known}
    assert None in found, "nothing was put in its place"
    figure("imports of a file that becomes another", len(found))


def test_a_run_that_is_taken_in_has_the_events_of_one_file(
    project: Workspace, versions: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / NAME
    path.write_bytes(versions[0].read_bytes())
    seen = 0
    with swapped(path, versions[1]):
        for _ in range(400):
            if seen == 4:
                break
            with contextlib.suppress(HoldfastError):
                taken = holdfast.import_run(project, path)
                told = repr(holdfast.log(project, run=taken.run).events)
                assert [number for number in "12" if number * 100 in told] == [taken.goal]
                holdfast.delete(project, taken.run, purge=True)
                seen += 1
    assert seen == 4, "nothing was taken in"
