"""Where did I leave off? Runs of all projects of a user; what is gone, damaged or not his is named and passed over."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.tools import hook

Maker = Callable[[str], Path]


@pytest.fixture
def make(tmp_path: Path, clock: TickingClock) -> Maker:
    """A project of its own, with a run that is about its name."""

    def made(name: str) -> Path:
        directory = tmp_path / name
        subprocess.run(["git", "init", "-q", str(directory)], check=True)
        with holdfast.open(directory, clock=clock) as workspace:
            holdfast.start(workspace, f"Work on {name}")
        return directory

    return made


def test_runs_of_all_projects_come_newest_first(project: Workspace, make: Maker, clock: TickingClock) -> None:
    one, two = make("one"), make("two")
    with holdfast.open(one, clock=clock) as workspace:
        holdfast.note(workspace, "later")
    found = holdfast.everywhere(project)
    assert [(each.project, each.run.goal) for each in found.runs] == [
        (str(one), "Work on one"),
        (str(two), "Work on two"),
    ]
    assert found.passed_over == []
    assert [each.run.goal for each in holdfast.everywhere(project, search="two").runs] == ["Work on two"]
    assert [each.run.goal for each in holdfast.everywhere(project, limit=1).runs] == ["Work on one"]
    assert holdfast.everywhere(project, status=("completed",)).runs == []


def test_it_can_be_asked_where_there_is_no_project(make: Maker, tmp_path: Path) -> None:
    make("one")
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    with holdfast.open(nowhere) as workspace:
        assert [each.run.goal for each in holdfast.everywhere(workspace).runs] == ["Work on one"]
    assert list(nowhere.iterdir()) == []


def test_a_project_whose_name_is_not_utf8_is_looked_at(project: Workspace, make: Maker, tmp_path: Path) -> None:
    make(os.fsdecode(b"caf\xe9"))
    found = holdfast.everywhere(project)
    assert ([each.project for each in found.runs], found.passed_over) == ([f"{tmp_path}/caf\\xe9"], [])


def test_what_hooks_kept_in_another_project_counts(project: Workspace, make: Maker) -> None:
    other = make("other")
    hook(other, "claude", "UserPromptSubmit", b'{"session_id":"c1","prompt":"Begin anew"}')
    found = holdfast.everywhere(project)
    assert [prompt.text for each in found.runs for prompt in each.run.prompts] == ["Begin anew"]
    with holdfast.open(other) as workspace:
        assert holdfast.verify(workspace).problems == []


def test_projects_that_are_gone_damaged_or_foreign_are_named(project: Workspace, make: Maker) -> None:
    gone, damaged, foreign, fine = make("gone"), make("damaged"), make("foreign"), make("fine")
    shutil.rmtree(gone)
    (damaged / ".git" / "holdfast" / "journal.db").write_bytes(b"nonsense" * 1000)
    store = foreign / ".git" / "holdfast"
    store.rename(foreign / "aside")
    shutil.copytree(foreign / "aside", store)
    found = holdfast.everywhere(project)
    assert [each.project for each in found.runs] == [str(fine)]
    assert {Path(each.project).name: each.why for each in found.passed_over} == {
        "gone": "The project is gone",
        "damaged": "The store is damaged",
        "foreign": "This store was not made here, so it is not trusted",
    }


def test_a_store_that_was_made_anew_is_not_called_foreign(project: Workspace, make: Maker, tmp_path: Path) -> None:
    again = make("again")
    (again / ".git" / "holdfast").rename(tmp_path / "kept so that its inode is not given again")
    with holdfast.open(again) as workspace:
        holdfast.start(workspace, "Second store")
    found = holdfast.everywhere(project)
    assert ([each.run.goal for each in found.runs], found.passed_over) == (["Second store"], [])


def test_each_run_is_listed_with_a_directory_of_its_own_project(
    project: Workspace, make: Maker, tmp_path: Path, clock: TickingClock
) -> None:
    one, two = make("one"), make("two")
    below = one / "below"
    with holdfast.open(one, clock=clock) as workspace:
        with a_worktree(workspace, below, clock) as linked:
            holdfast.start(linked, "In a worktree")
        (run,) = [found.id for found in holdfast.runs(workspace).runs if found.goal == "Work on one"]
        holdfast.export(workspace, run, tmp_path / "run.holdfast")
    with holdfast.open(two) as workspace:
        holdfast.import_run(workspace, tmp_path / "run.holdfast")
    found = {(each.run.goal, Path(each.project).name): each.directory for each in holdfast.everywhere(project).runs}
    assert found == {
        ("Work on one", "one"): str(one),
        ("In a worktree", "one"): str(below),
        ("Work on one", "two"): str(two),
        ("Work on two", "two"): str(two),
    }
    shutil.rmtree(below)
    assert {each.directory for each in holdfast.everywhere(project).runs} == {str(one), str(two)}
