"""Kill installing and taking out at the calls by which they change anything: the settings come back byte for byte."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import holdfast
from holdfast.agents.claude.hooks import EVENTS
from holdfast.agents.claude.settings_file import called
from tests.crash.cases import an_empty_project, in_project, opened
from tests.crash.modes import ENDS, FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome
from tests.file_trees import Tree, tree_of

THEIRS = b'{\r\n\t"model": "opus",\r\n\t"hooks": {"Stop": []}\r\n}'

pytestmark = [
    pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}"),
    pytest.mark.promise(28),
]


def a_project_with_settings(directory: Path) -> None:
    an_empty_project(directory)
    settings = directory / "project" / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_bytes(THEIRS)


STARTS = {"settings-that-are-there": a_project_with_settings, "no-settings": an_empty_project}
BY_START = pytest.mark.parametrize("prepare", STARTS.values(), ids=STARTS)


def state(directory: Path) -> Tree:
    """The project without its store."""
    found = tree_of(directory / "project", without=directory / "project" / ".holdfast")
    return {path.removeprefix(str(directory)): look for path, look in found.items()}


def before(prepare: Callable[[Path], None], directory: Path) -> Tree:
    directory.mkdir()
    prepare(directory)
    return state(directory)


def verb(*arguments: str, installed: bool = False) -> Callable[[Path], Sequence[str]]:
    def argv(directory: Path) -> Sequence[str]:
        with opened(directory) as workspace:  # its store is there, so that the calls are those of installing
            holdfast.init(workspace, agent="claude" if installed else "none")
        return [*in_project(directory), sys.executable, "-m", "holdfast", *arguments]

    return argv


def comes_back(original: Tree) -> Callable[[Outcome], None]:
    """Whatever was broken off: the settings are one whole version, and `uninit` gives the first one back."""

    def check(outcome: Outcome) -> None:
        path = outcome.directory / "project" / ".claude" / "settings.local.json"
        if path.exists() and path.read_bytes() != THEIRS:
            found = called(json.loads(path.read_bytes()))
            assert len(found) == len(EVENTS), "neither as it was nor as it should be"
        with opened(outcome.directory) as workspace:
            holdfast.uninit(workspace)
        assert state(outcome.directory) == original

    return check


@BY_START
def test_installing_that_is_killed_can_be_taken_out(prepare: Callable[[Path], None], tmp_path: Path) -> None:
    check = comes_back(before(prepare, tmp_path / "before"))
    explore(
        prepare=prepare, command=verb("init", "--agent", "claude"), check=check, modes=ENDS, points=4
    ).assert_clean()


@BY_START
def test_taking_out_that_is_killed_can_be_finished(prepare: Callable[[Path], None], tmp_path: Path) -> None:
    check = comes_back(before(prepare, tmp_path / "before"))
    command = verb("uninit", installed=True)
    explore(prepare=prepare, command=command, check=check, modes=ENDS, points=4).assert_clean()


@each_tier(8)
@BY_START
@pytest.mark.parametrize("installed", [False, True], ids=["init", "uninit"])
def test_wherever_it_breaks_off_it_can_be_taken_back(
    prepare: Callable[[Path], None], installed: bool, tmp_path: Path, points: int | None
) -> None:
    check = comes_back(before(prepare, tmp_path / "before"))
    arguments = ("uninit",) if installed else ("init", "--agent", "claude")
    command = verb(*arguments, installed=installed)
    explore(prepare=prepare, command=command, check=check, modes=(*KILLS, *FAILURES), points=points).assert_clean()
