"""Damage is found wherever it strikes, and mending it survives its own end.

The tier of every commit flips a hundred bytes and kills a few repairs; `-m long` flips a thousand, and kills the repair
of every kind of damage at many points.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.journal.store import RunQuery
from tests.crash.cases import in_project, opened
from tests.crash.damage import DAMAGES, a_damaged_store, a_full_store, claim, place_of
from tests.crash.modes import FAILURES, KILLS
from tests.faults import tracer
from tests.faults.explorer import copy_tree, explore
from tests.faults.report import Outcome
from tests.promises import tell

SEED = 8
NEEDS_TRACER = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("full") / "template"
    directory.mkdir()
    a_full_store(directory)
    return directory


def values(directory: Path) -> dict[str, Any]:
    """Everything that can be asked of a store."""
    with opened(directory) as workspace, workspace.reading() as journal:
        runs = journal.view.all_run_ids()
        found: dict[str, Any] = {
            id: (journal.find_run(id), list(journal.events(id)), journal.list_sessions(id)) for id in runs
        }
        found["checkpoints"] = list(journal.list_checkpoints())
        found["pointers"] = journal.view.pointers()
        found["found"] = [row.id for row in journal.view.list_runs(RunQuery(search="action")).rows]
    return found


def places(directory: Path) -> dict[str, list[Path]]:
    """The files that hold something, by kind."""
    place, git = place_of(directory), directory / "project" / ".git"
    return {
        "database": [place / "journal.db", place / "journal.db-wal", place / "journal.sums"],
        "packs": sorted(git.glob("objects/pack/pack-*.pack")) + sorted(git.glob("objects/pack/pack-*.idx")),
        "refs": [git / "refs" / "holdfast" / "main"],
        "state": [place / "id", place / "git" / "keep"],
        "backups": sorted((place / "backups").glob("*.tar.gz")),
    }


class Flips:
    """A store in which one byte at a time is flipped, and back."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kinds = {
            kind: [(path, path.read_bytes()) for path in paths if path.exists()]
            for kind, paths in places(directory).items()
        }
        self.whole = values(directory)

    def flip(self, kind: str, chance: random.Random) -> tuple[Path, int, bool, bool]:
        """Flip a byte; where it was, whether `verify --deep` finds that, and whether anything reads otherwise."""
        files = self.kinds[kind]
        path, data = chance.choices(files, [len(content) for _, content in files])[0]
        at = chance.randrange(len(data))
        path.chmod(0o600)
        path.write_bytes(data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :])
        try:
            return path, at, self._is_found(), self._reads_otherwise() if kind == "database" else False
        finally:
            for found, content in self.kinds[kind]:
                found.chmod(0o600)
                found.write_bytes(content)
            (place_of(self.directory) / "journal.db-shm").unlink(missing_ok=True)

    def _is_found(self) -> bool:
        try:
            with opened(self.directory) as workspace:
                return bool(holdfast.verify(workspace, deep=True).problems)
        except HoldfastError:
            return True

    def _reads_otherwise(self) -> bool:
        try:
            return values(self.directory) != self.whole
        except HoldfastError:
            return True


@pytest.fixture
def plain_flips(tmp_path: Path) -> Flips:
    """Of a store without checkpoints, so that git need not look at them each time."""
    a_full_store(tmp_path, with_checkpoints=False)
    return Flips(tmp_path)


@pytest.fixture
def flips(template: Path, tmp_path: Path) -> Flips:
    directory = tmp_path / "copy"
    copy_tree(template, directory)
    claim(directory)
    with opened(directory) as workspace:
        assert holdfast.verify(workspace, deep=True).problems == [], "a healthy store must have no findings"
    return Flips(directory)


def prove(flips: Flips, counts: dict[str, int]) -> None:
    chance = random.Random(SEED)
    missed, silent, total = [], [], 0
    for kind, count in counts.items():
        for _ in range(count):
            path, at, found, differs = flips.flip(kind, chance)
            total += 1
            if not found:
                missed.append((path.name, at))
            if differs and not found:
                silent.append((path.name, at))
    assert silent == [], f"seed {SEED}: these flips change what is read, and nobody says so"
    assert len(missed) <= total / 100, f"seed {SEED}: {len(missed)} of {total} flips were not found: {missed}"
    tell("flipped bytes", total)
    tell("not found", len(missed))
    tell("seed", SEED)


@pytest.mark.promise(8)
def test_a_flipped_byte_of_the_database_is_found(plain_flips: Flips) -> None:
    prove(plain_flips, {"database": 85})


@pytest.mark.promise(8)
def test_a_flipped_byte_of_anything_else_is_found(flips: Flips) -> None:
    prove(flips, {"packs": 8, "refs": 3, "state": 2, "backups": 2})


@pytest.mark.long
@pytest.mark.promise(8)
def test_of_a_thousand_flipped_bytes_hardly_one_is_missed_and_none_that_matters(flips: Flips) -> None:
    prove(flips, {"database": 700, "packs": 150, "refs": 50, "state": 30, "backups": 70})


# Repair


def repair(directory: Path) -> Sequence[str]:
    claim(directory)
    return [*in_project(directory), sys.executable, "-m", "holdfast", "repair"]


class Repairs:
    """What a repair that nobody disturbs makes of a store; every other one must end there too."""

    def __init__(self) -> None:
        self.expected: Any = None

    def check(self, outcome: Outcome) -> None:
        if outcome.mode not in ("none", *KILLS) and outcome.returncode:
            assert outcome.stderr.startswith("holdfast: "), f"no sentence: {outcome.stderr[-300:]}"
            assert outcome.returncode != 3, f"a bug was reported: {outcome.stderr[-500:]}"
        with opened(outcome.directory) as workspace:
            holdfast.repair(workspace)
            told = [holdfast.repair(workspace).store for _ in range(2)]
            assert [store.changed for store in told if store] == [False, False], f"there is always more to do: {told}"
            found = holdfast.verify(workspace, deep=True)
            assert found.problems == [], f"it is not mended: {found.problems}"
        seen = self._kept(outcome.directory)
        if outcome.mode == "none":
            self.expected = seen
        assert seen == self.expected, "another repair has saved other things"

    def _kept(self, directory: Path) -> Any:
        with opened(directory) as workspace, workspace.reading() as journal:
            runs = journal.view.all_run_ids()
            events = {id: [(event.seq, event.kind, event.body) for event in journal.events(id)] for id in runs}
            return events, sorted(made.id for made in journal.list_checkpoints())


def _explore(name: str, modes: tuple[str, ...], points: int) -> None:
    explore(
        prepare=a_damaged_store(name), command=repair, check=Repairs().check, modes=modes, points=points, timeout=60
    ).assert_clean()


@NEEDS_TRACER
@pytest.mark.promise(4)
def test_a_repair_that_is_killed_can_be_done_again() -> None:
    _explore("database and pack", ("kill",), points=4)


@NEEDS_TRACER
@pytest.mark.long
@pytest.mark.promise(4)
@pytest.mark.parametrize("name", DAMAGES, ids=lambda name: name.replace(" ", "-"))
def test_a_repair_of_anything_that_is_killed_anywhere_can_be_done_again(name: str) -> None:
    _explore(name, KILLS, points=12)


@NEEDS_TRACER
@pytest.mark.promise(4, 5)
def test_a_repair_that_the_system_fails_says_so_and_can_be_done_again() -> None:
    _explore("database and pack", ("ENOSPC", "EIO", "sticky:ENOSPC"), points=2)


@NEEDS_TRACER
@pytest.mark.long
@pytest.mark.promise(4, 5)
@pytest.mark.parametrize("name", DAMAGES, ids=lambda name: name.replace(" ", "-"))
def test_a_repair_of_anything_that_the_system_fails_anywhere_can_be_done_again(name: str) -> None:
    _explore(name, FAILURES, points=3)


SOME = [
    "a byte in an event",
    "the first page",
    "no database",
    "a hole in the log",
    "a large value",
    "a pack",
    "a ref that is no name",
]


def _mend(name: str, template: Path, directory: Path) -> None:
    """Damage a copy, repair it three times, and compare."""
    copy_tree(template, directory)
    claim(directory)
    whole = values(directory)
    DAMAGES[name](directory)
    with opened(directory) as workspace:
        told = [holdfast.repair(workspace).store for _ in range(3)]
        assert [store.changed for store in told if store] == [True, False, False]
        assert holdfast.verify(workspace, deep=True).problems == []
    if values(directory) != whole:
        assert told[0] is not None
        assert told[0].lost, "something is lost, and nobody said so"


@pytest.mark.promise(4, 6)
@pytest.mark.parametrize("name", SOME, ids=lambda name: name.replace(" ", "-"))
def test_three_repairs_are_one_and_what_is_lost_is_said(name: str, template: Path, tmp_path: Path) -> None:
    _mend(name, template, tmp_path / "copy")


@pytest.mark.long
@pytest.mark.promise(4, 6)
@pytest.mark.parametrize("name", sorted(DAMAGES.keys() - SOME), ids=lambda name: name.replace(" ", "-"))
def test_whatever_is_damaged_three_repairs_are_one(name: str, template: Path, tmp_path: Path) -> None:
    _mend(name, template, tmp_path / "copy")
