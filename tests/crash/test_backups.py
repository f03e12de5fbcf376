"""A backup or its return that is killed: a file is whole or not there, and a store is the one before or after."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import holdfast
from holdfast.journal import backup_file
from tests.crash.cases import GOAL, a_project_with_a_run, adopt, in_project, opened, the_run
from tests.crash.modes import FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.explorer import Command, Prepare, explore
from tests.faults.report import Check, Outcome

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")
KEPT = "kept.tar.gz"
NAMES = ("backup", "restore-backup")


def a_project_with_a_backup(directory: Path) -> None:
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        holdfast.backup(workspace, str(directory / KEPT))
        holdfast.note(workspace, "since then")


def backup(directory: Path) -> Sequence[str]:
    adopt(directory)
    return [*in_project(directory), sys.executable, "-m", "holdfast", "backup", f"../{KEPT}", "--yes"]


def restore_backup(directory: Path) -> Sequence[str]:
    adopt(directory)
    return [*in_project(directory), sys.executable, "-m", "holdfast", "restore-backup", f"../{KEPT}", "--yes"]


def is_whole_or_absent(outcome: Outcome) -> None:
    kept = outcome.directory / KEPT
    if kept.exists():
        backup_file.read_archive(kept, lambda _: None)
    assert kept.exists() or not outcome.acknowledged(), "acknowledged, and there is no file"
    with opened(outcome.directory) as workspace:
        holdfast.backup(workspace, str(kept), replace=True)
        assert holdfast.verify(workspace, deep=True).problems == []
    assert [path.name for path in outcome.directory.glob(f".{KEPT}*")] == []


def is_before_or_after(outcome: Outcome) -> None:
    with opened(outcome.directory) as workspace:
        holdfast.repair(workspace)
        assert holdfast.verify(workspace, deep=True).problems == []
        run = the_run(workspace)
        assert run.goal == GOAL
        is_after = run.notes[-1].text != "since then"
        assert is_after or not outcome.acknowledged(), "acknowledged, and not put back"
        holdfast.start(workspace, "go on afterwards")


def parts_of(what: str) -> tuple[Prepare, Command, Check]:
    if what == "backup":
        return a_project_with_a_run, backup, is_whole_or_absent
    return a_project_with_a_backup, restore_backup, is_before_or_after


def _explore(what: str, modes: tuple[str, ...], points: int | None) -> None:
    prepare, command, check = parts_of(what)
    explore(prepare=prepare, command=command, check=check, modes=modes, points=points, timeout=60).assert_clean()


@pytest.mark.promise(3, 4)
@pytest.mark.parametrize("what", NAMES)
def test_a_kill_leaves_what_was_or_what_shall_be(what: str) -> None:
    _explore(what, ("kill",), points=3)


@each_tier(3)
@pytest.mark.promise(3, 4, 5)
@pytest.mark.parametrize("what", NAMES)
def test_wherever_it_breaks_off_it_leaves_what_was_or_what_shall_be(what: str, points: int | None) -> None:
    _explore(what, (*KILLS, *FAILURES), points=points)
